/** A store that ends with the page: local models refuse it. */
export function memoryStore(name = "memory") {
  const store = {
    durable: false,
    rows: async () => [],
    commit: async () => {},
    keepMark() {},
    close() {},
  };
  return { name, open: async () => store };
}

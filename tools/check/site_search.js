// The search of the documents' site, without a web server: lunr and the index are scripts. make_site.py puts this into the site.
(function () {
  'use strict';
  const input = document.getElementById('mkdocs-search-query');
  const results = document.getElementById('mkdocs-search-results');
  if (!input || !results) return;
  const kResultsMax = 30;
  const kBefore = 80, kAfter = 160;  // characters that are shown around the first word that was found

  function load(name, then) {
    const script = document.createElement('script');
    script.src = base_url + '/search/' + name;
    script.onload = then;
    document.head.appendChild(script);
  }

  function element(parent, name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    return parent.appendChild(made);
  }

  function excerpt(text, words) {
    const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
    const at = Math.max(0, (places.length ? Math.min(...places) : 0) - kBefore);
    return (at ? '… ' : '') + text.slice(at, at + kBefore + kAfter);
  }

  function show(query, index, pages) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    results.replaceChildren();
    if (!words.length) return;
    // Every word counts as it is and as a beginning; sections that have all of them come first.
    const found = index.query((q) => words.forEach((word) => {
      q.term(lunr.tokenizer(word), {boost: 10});
      q.term(word, {usePipeline: false, wildcard: lunr.Query.wildcard.TRAILING});
    })).slice(0, kResultsMax);
    if (!found.length) element(results, 'p', 'Nothing found.');
    for (const match of found) {
      const page = pages.get(match.ref);
      const article = element(results, 'article', '');
      const link = element(element(article, 'h3', ''), 'a', page.title);
      link.href = base_url + '/' + page.location;
      element(article, 'small', page.location);
      element(article, 'p', excerpt(page.text.replaceAll('¶', ''), words));
    }
  }

  load('lunr.js', () => load('index.js', () => {
    const pages = new Map(bandana_index.docs.map((page) => [page.location, page]));
    const index = lunr(function () {
      this.ref('location');
      this.field('title', {boost: 5});
      this.field('text');
      bandana_index.docs.forEach((page) => this.add(page));
    });
    input.value = new URLSearchParams(location.search).get('q') || '';
    input.addEventListener('input', () => show(input.value, index, pages));
    show(input.value, index, pages);
  }));
})();

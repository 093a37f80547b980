// Whether the JSON on standard input is an OpenAPI document: `node openapi_check.mjs MODULES`. Prints {valid, version, errors}.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const require = createRequire(join(resolve(process.argv[2]), "package.json"));
const { Validator } = await import(pathToFileURL(require.resolve("@seriousme/openapi-schema-validator")));
const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync(0, "utf8")));
// References that lead nowhere are an error here as well.
if (result.valid) validator.resolveRefs();
console.log(JSON.stringify({ valid: result.valid, version: validator.version, errors: result.errors }));

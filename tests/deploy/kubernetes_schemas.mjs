// Validates objects of a cluster, a JSON array on stdin, against the API's schemas: `node kubernetes_schemas.mjs FOLDER`, where FOLDER
// has the packages kubernetes-models and @kubernetes-models/prometheus-operator in node_modules. Prints each mistake.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

async function modelOf({ apiVersion, kind }) {
  const operator = apiVersion.startsWith("monitoring.coreos.com/");
  const name = operator ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
  const file = join(resolve(process.argv[2]), "node_modules", name, apiVersion, `${kind}.js`);
  return (await import(pathToFileURL(file)))[kind];
}

let mistakes = 0;
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const Model = await modelOf(object);
    new Model(object).validate();
  } catch (error) {
    mistakes += 1;
    console.log(`${object.kind} ${object.metadata.name}: ${error.message}`);
  }
}
process.exit(mistakes === 0 ? 0 : 1);

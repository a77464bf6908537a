/**
 * The YAML parser, loaded when it is first needed: manifests in plain YAML, as most are, are read without it (plain-yaml.ts), and its
 * seventy modules are a tenth of what a start loads.
 */
import { createRequire } from 'node:module';
import type * as yamlPackage from 'yaml';

type Yaml = typeof yamlPackage;

let loaded: Yaml | undefined;

export function yaml(): Yaml {
  return loaded ??= load();
}

function load(): Yaml {
  // what `require` gives has no type of its own
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return createRequire(import.meta.url)('yaml') as Yaml;
}

/** Where a start finds its own modules. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { sourceUrl } from '../../bin/resolve-sources.js';

const ROOT = join(import.meta.dirname, '..', '..');
const IMPORTED = /(?:from|import) ?\(?'(?<specifier>[^']+)'/g;

/** Every import in the product, with the module that it stands in. */
const IMPORTS = globSync('{bin,crds,demo,dataplane,operator,web}/**/*.{ts,js}', { cwd: ROOT, exclude: ['**/*.d.ts'] }).flatMap((path) => {
  const parentUrl = pathToFileURL(join(ROOT, path)).href;
  return [...readFileSync(join(ROOT, path), 'utf8').matchAll(IMPORTED)].map(({ groups }) => ({ specifier: groups?.['specifier'] ?? '', parentUrl }));
});

describe('the gateway\'s own modules', () => {
  it('are where Node finds them', () => {
    const own = IMPORTS.filter(({ specifier }) => /^[.#]/.test(specifier) && specifier.endsWith('.ts'));
    assert.ok(own.length > 2000, `${own.length} imports`);
    for (const { specifier, parentUrl } of own) {
      const url = sourceUrl(specifier, parentUrl);
      assert.ok(url !== undefined && existsSync(fileURLToPath(url)), `${specifier} in ${parentUrl}`);
      if (specifier.startsWith('#')) assert.equal(url, import.meta.resolve(specifier));
      else assert.equal(fileURLToPath(url), join(fileURLToPath(parentUrl), '..', specifier));
    }
  });

  it('are all that is found so', () => {
    const here = import.meta.url;
    for (const specifier of ['yaml', 'node:fs', './mgw.js', '../package.json', '#nowhere/a.ts', 'a.ts', 'a/b.ts', '/a.ts', 'file:///a.ts']) assert.equal(sourceUrl(specifier, here), undefined, specifier);
    assert.equal(sourceUrl('./a.ts', pathToFileURL(join(ROOT, 'node_modules', 'a', 'b.js')).href), undefined);
    assert.equal(sourceUrl('./a.ts', 'file:///elsewhere/b.ts'), undefined);
    assert.equal(sourceUrl('./a.ts', undefined), undefined);
  });
});

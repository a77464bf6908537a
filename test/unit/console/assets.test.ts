/** The files that browsers get beside the pages. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { loadAssets } from '../../../console/assets.ts';

it('scripts import libraries by an address that is served', () => {
  const assets = loadAssets();
  const script = String(assets.find(assets.href('keys.js'))?.asset.body);
  const [, file] = /^import \{ Idiomorph \} from '\.\/(.*)';$/m.exec(script) ?? [];
  const library = assets.find(`/assets/${file}`);
  assert.equal(library?.exact, true);
  assert.match(String(library?.asset.body), /export \{.*Idiomorph/);
});

/** A manifest of which everything but the metadata was read before is read as if nothing had been, whatever its text is. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { loadApiKinds } from '#crds/load.ts';
import { findMetadata, KnownContents } from '../../../operator/files/known-content.ts';
import { parseDocuments } from '../../../operator/files/parse-document.ts';
import { splitDocuments } from '../../../operator/files/split-documents.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const kinds = await loadApiKinds();
const OPTIONS = { kinds, defaultNamespace: 'model-gateway' };
const KEY = `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: ci-bot
  namespace: team-a
spec:
  groupRef:
    name: everyone
  accountRef:
    name: team
`;
const SEEDS = [KEY, ...globSync(['docs/examples/**/*.yaml', 'test/**/testdata/**/*.yaml'], { cwd: ROOT }).sort()
  .flatMap((path) => splitDocuments(readFileSync(join(ROOT, path), 'utf8')).map(({ text }) => text))
  .filter((text) => parseDocuments(text, OPTIONS)[0]?.manifest?.sort === 'Resource').map((text) => stringify(parse(text)))]
  .filter((text) => isKnown(text, knowing(text)));

/** Reads a text after others, and alone; both must come to the same. */
function assertSame(text: string, known: KnownContents): void {
  assert.deepEqual(parseDocuments(text, { ...OPTIONS, known }), parseDocuments(text, OPTIONS), `of this text:\n${text}`);
}

function isKnown(text: string, known: KnownContents): boolean {
  const place = findMetadata(text);
  return place !== undefined && known.get(text, place) !== undefined;
}

function knowing(...texts: string[]): KnownContents {
  const known = new KnownContents();
  for (const text of texts) parseDocuments(text, { ...OPTIONS, known });
  return known;
}

describe('known content', () => {
  it('is what stands around the metadata', () => {
    const place = findMetadata(KEY);
    assert.equal(KEY.slice(place?.start, place?.end), 'metadata:\n  name: ci-bot\n  namespace: team-a\n');
    assert.ok(isKnown(KEY, knowing(KEY)));
    assert.ok(SEEDS.length > 50, `${SEEDS.length} manifests`);
  });

  it('gives one object to all that have it', () => {
    const known = knowing(KEY);
    const specs = ['a', 'b'].map((name) => {
      const manifest = parseDocuments(KEY.replace('ci-bot', name), { ...OPTIONS, known })[0]?.manifest;
      assert.equal(manifest?.sort, 'Resource');
      assert.equal(manifest.object.metadata.name, name);
      return manifest.object.spec;
    });
    assert.equal(specs[0], specs[1]);
  });

  it('tells contents apart of which only one side is the same', () => {
    const moved = KEY.replace(/metadata:\n(?: .*\n)*/, '') + 'metadata:\n  name: ci-bot\n';
    const [one, other] = [`# one\n${KEY}`, `# another\n\n${KEY}`];
    for (const [known, asked] of [[one, other], [other, one], [KEY, one], [moved, `${moved}more: 1\n`], [KEY, KEY.replace('everyone', 'somebody')], [KEY, KEY.replace('v1alpha1', 'v1alpha2')]] as const) {
      assert.ok(!isKnown(asked, knowing(known)), `${asked} is not ${known}`);
      assertSame(asked, knowing(known));
    }
    const known = knowing(one, other);
    for (const text of [one, other]) {
      assert.ok(isKnown(text, known));
      assertSame(text.replace('ci-bot', 'b'), known);
    }
  });

  for (const [what, text] of Object.entries({
    'metadata at the end': KEY.replace(/metadata:\n(?: .*\n)*/, '') + 'metadata:\n  name: b\n', 'metadata in the last line, without its end': KEY.replace(/metadata:\n(?: .*\n)*/, '') + 'metadata:\n  name: b',
    'metadata first': `metadata:\n  name: b\n${KEY.replace(/metadata:\n(?: .*\n)*/, '')}`, 'metadata twice': `${KEY}metadata:\n  name: b\n`, 'metadata that are none': KEY.replace(/metadata:\n(?: .*\n)*/, 'metadata:\n  - a\n'),
    'a name that cannot be': KEY.replace('ci-bot', 'CI'), 'no name': KEY.replace('  name: ci-bot\n', ''), 'a name that is too long': KEY.replace('ci-bot', 'a'.repeat(64)), 'metadata that nobody knows': KEY.replace('namespace', 'nemespace'),
    'a comment at the margin': KEY.replace('spec:', '# so\nspec:'), 'an empty line': KEY.replace('spec:', '\nspec:'), 'a comment before it': `# so\n${KEY}`, 'a separator before it': `---\n${KEY}`,
    'an empty field before the metadata': KEY.replace('metadata:', 'spec:\nmetadata:'), 'a list at the margin': KEY.replace('spec:', '- a\nspec:'), 'an anchor in the metadata': KEY.replace('ci-bot', '&a ci-bot'),
    'metadata within': KEY.replace('  groupRef:', '  metadata:\n    name: b\n  groupRef:'), 'a time that is none': KEY.replace('  namespace', '  creationTimestamp: soon\n  namespace'), 'labels that are numbers': KEY.replace('  namespace', '  labels:\n    a: 1\n  namespace'),
  })) {
    it(`changes nothing about ${what}`, () => assertSame(text, knowing(KEY)));
  }

  it('keeps the line at which an object begins', () => {
    const commented = `---\n# a\n# b\n${KEY}`;
    const known = knowing(commented);
    const again = commented.replace('ci-bot', 'b');
    assert.ok(isKnown(again, known));
    assert.equal(parseDocuments(again, { ...OPTIONS, known })[0]?.line, 4);
    assertSame(`---\n# a\nmetadata:\n  name: b\n# b\n${KEY.replace(/metadata:\n(?: .*\n)*/, '')}`, known);
  });

  it('changes nothing about any manifest, whatever is changed in it', () => {
    const snippet = fc.constantFrom('metadata:\n', '\nmetadata:\n  name: b\n', '\n', '\n  ', ' ', '- ', '# c\n', 'spec:\n', 'a', '---\n', '"', ': ', '  labels:\n    a: b\n', '\nname: b', 'X', '&a ', '\t');
    const edit = fc.record({ at: fc.integer({ min: 0, max: 999 }), near: fc.integer({ min: 0, max: 9 }).map((n) => n > 0), remove: fc.integer({ min: 0, max: 2 }), insert: snippet });
    let known = 0;
    fc.assert(fc.property(fc.constantFrom(...SEEDS), fc.array(edit, { minLength: 1, maxLength: 2 }), (text, edits) => {
      const edited = edits.reduce((now, { at, near, remove, insert }) => {
        const place = near ? now.indexOf('metadata:') + Math.floor(at * 0.06) : Math.floor(at * now.length / 1000);
        return now.slice(0, place) + insert + now.slice(place + remove);
      }, text);
      if (isKnown(edited, knowing(text))) known++;
      assertSame(edited, knowing(text));
    }), { numRuns: Number(process.env['FUZZ_RUNS'] ?? 1500) });
    assert.ok(known > 100, `${known} had a known content`);
  });
});

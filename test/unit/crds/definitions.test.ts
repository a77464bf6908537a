/**
 * `kubectl apply -f crds/` reads every .yaml, .yml and .json file of the folder, so that it contains only definitions.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KINDS } from '#crds/types.gen.ts';

const FOLDER = new URL('../../../crds/', import.meta.url);
const files = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => name);

describe('the folder crds/', () => {
  it('contains one file for each kind, and no other file', () => {
    assert.deepEqual(
      files.toSorted(),
      Object.keys(KINDS)
        .map((kind) => `${kind.toLowerCase()}.yaml`)
        .toSorted(),
    );
  });

  for (const name of files) {
    it(`has one CustomResourceDefinition in ${name}`, () => {
      const documents = parseAllDocuments(readFileSync(new URL(name, FOLDER), 'utf8'));
      assert.deepEqual(
        documents.flatMap(({ errors }) => errors),
        [],
      );
      const [definition, ...more] = documents.map((each) => each.toJS());
      assert.deepEqual(more, []);
      assert.equal(definition.apiVersion, 'apiextensions.k8s.io/v1');
      assert.equal(definition.kind, 'CustomResourceDefinition');
      assert.equal(definition.metadata.name, `${definition.spec.names.plural}.modelgateway.dev`);
      assert.equal(`${definition.spec.names.singular}.yaml`, name);
    });
  }
});

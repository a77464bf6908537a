/** Whole public lists: every model is taken exactly or missing, and everything refused is named. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { parse } from 'yaml';
import { importCatalog } from '../../../../bin/catalog/import.ts';
import { openList } from '../../../../bin/catalog/lists/open-list.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';
import {
  LITELLM,
  litellmText,
  modelsOf,
  MODELS_DEV,
  modelsDevText,
  MODELS_PER_TEMPLATE,
  OPENROUTER,
  openrouterText,
  PORTKEY,
  portkeyText,
} from './whole-lists.ts';
import type { Template } from './whole-lists.ts';

const LISTS: readonly {
  readonly kind: string;
  readonly text: string;
  readonly templates: readonly Template[];
  readonly keyOf?: (template: string, key: string) => string;
  readonly counts: { readonly taken: number; readonly missing: number; readonly refused: number };
}[] = [
  {
    kind: 'litellm',
    text: litellmText(),
    templates: LITELLM,
    counts: { taken: 325, missing: 125, refused: 500 },
  },
  {
    kind: 'models.dev',
    text: modelsDevText(),
    templates: MODELS_DEV,
    keyOf: (template, key) => `${template}/${key}`,
    counts: { taken: 150, missing: 25, refused: 75 },
  },
  {
    kind: 'openrouter',
    text: openrouterText(),
    templates: OPENROUTER,
    counts: { taken: 75, missing: 50, refused: 125 },
  },
  { kind: 'portkey', text: portkeyText(), templates: PORTKEY, counts: { taken: 75, missing: 50, refused: 125 } },
];

const REFUSED = /^(.+?): not imported: ([^:]+)/;

describe.each(LISTS)('the whole list of $kind', ({ kind, text, templates, keyOf = (_, key) => key, counts }) => {
  const source = openList(text);
  const {
    manifest = '',
    remarks,
    missing,
  } = importCatalog({
    name: 'whole',
    source,
    text,
    allowFree: false,
    revision: undefined,
    date: '2026-11-24',
    wanted: templates.flatMap((template) =>
      modelsOf(template).map(({ key }) => ({ name: key, keys: [keyOf(template.name, key)] })),
    ),
  });
  const models = (parse(manifest) as { spec: { models: { name: string }[] } }).spec.models;
  const refused = remarks.flatMap((remark) => {
    const [, model = '', field = ''] = REFUSED.exec(remark) ?? [];
    return model === '' ? [] : [{ model, field }];
  });

  test('is recognized, and its models are counted', () => {
    assert.equal(source.kind, kind);
    assert.equal(source.list.keys.length, templates.length * MODELS_PER_TEMPLATE);
    assert.deepEqual({ taken: models.length, missing: missing.length, refused: refused.length }, counts);
  });

  test('goes over to the last digit', () => {
    const expected = templates.flatMap((template) =>
      modelsOf(template).flatMap(({ key, n }) => (template.entry ? [{ name: key, ...template.entry(n) }] : [])),
    );
    assert.deepEqual(
      models.map((model) => ({ ...model, vendor: undefined })),
      expected.map((model) => ({ ...model, vendor: undefined })),
    );
  });

  test('has each field that cannot go over named, with its model', () => {
    assert.deepEqual(
      refused.map(({ model, field }) => `${model} ${field}`).sort(),
      templates
        .flatMap((template) =>
          modelsOf(template).flatMap(({ key }) => template.refused.map((field) => `${key} ${field}`)),
        )
        .sort(),
    );
    for (const name of missing)
      assert.ok(
        remarks.some((remark) => remark.startsWith(`${name}: `)),
        name,
      );
  });

  test('makes a catalog that the operator accepts', () => {
    const { snapshot } = translate(resourcesOf(manifest), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
    assert.equal(snapshot.catalogs.flatMap((catalog) => [...catalog.models, ...catalog.sheets]).length, counts.taken);
  });
});

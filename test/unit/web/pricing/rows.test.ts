import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { COLUMNS, DEFAULT_QUERY, formatSort, parsePricingQuery, queryKey } from '#web/pricing/query.ts';
import type { PricingQuery } from '#web/pricing/query.ts';
import { arrangeRows, rankRows } from '#web/pricing/rows.ts';
import { REALISTIC, sampleState } from '../../dataplane/server/pricing/sample.ts';
import type { Sample } from '../../dataplane/server/pricing/sample.ts';

const SMALL: Sample = {
  tokens: [
    ['gpt-10', 'OpenAI', '2', '4', '0.5'],
    ['gpt-4', 'OpenAI', '10', '4', '0.25'],
    ['claude', 'Anthropic', '1.5', '5', '0.1'],
    ['free', 'anthropic-labs', '0', '1', '1'],
  ],
  requests: [['flux', 'BFL', '0.04']],
  groups: [
    { name: 'a', displayName: 'Same' },
    { name: 'b', displayName: 'Same', models: ['flux', 'gpt-4'] },
  ],
};
const state = sampleState(SMALL);
const ranked = rankRows(state.pricing.rows);

function view(search: string): string[] {
  const query = parsePricingQuery(new URLSearchParams(search), state.pricing);
  return arrangeRows(ranked, query, query.group === undefined ? undefined : state.groups.get(query.group))
    .filter(({ visible }) => visible)
    .map(({ ranked: { row } }) => row.modelName);
}

describe('order of rows', () => {
  test('by default is vendor, then model, as people read names', () => {
    assert.deepEqual(view(''), ['claude', 'free', 'flux', 'gpt-4', 'gpt-10']);
  });

  for (const [sort, expected] of [
    ['model', ['claude', 'flux', 'free', 'gpt-4', 'gpt-10']],
    ['-model', ['gpt-10', 'gpt-4', 'free', 'flux', 'claude']],
    ['-vendor', ['gpt-4', 'gpt-10', 'flux', 'free', 'claude']],
    ['type', ['claude', 'free', 'gpt-4', 'gpt-10', 'flux']],
    ['model_ratio', ['free', 'claude', 'gpt-10', 'gpt-4', 'flux']],
    ['-model_ratio', ['gpt-4', 'gpt-10', 'claude', 'free', 'flux']],
    ['completion_ratio', ['free', 'gpt-4', 'gpt-10', 'claude', 'flux']],
    ['cache_ratio', ['claude', 'gpt-4', 'gpt-10', 'free', 'flux']],
    ['-cache_ratio', ['free', 'gpt-10', 'gpt-4', 'claude', 'flux']],
  ] as const) {
    test(`${sort}: ties by model; what a column does not apply to comes last`, () =>
      assert.deepEqual(view(`?sort=${sort}`), expected));
  }

  test('ranks are exact where floats are not', () => {
    const { pricing } = sampleState({
      tokens: [
        ['a', 'v', '9999999999.000000002', '1', '1'],
        ['b', 'v', '9999999999.000000001', '1', '1'],
      ],
    });
    assert.deepEqual(
      rankRows(pricing.rows).map(({ ranks }) => ranks.model_ratio),
      [1, 0],
    );
  });

  test('every sort shows every row once', () => {
    const full = sampleState(REALISTIC);
    const rows = rankRows(full.pricing.rows);
    fc.assert(
      fc.property(fc.constantFrom(...COLUMNS), fc.boolean(), (column, descending) => {
        const arranged = arrangeRows(rows, { ...DEFAULT_QUERY, sort: { column, descending } }, undefined);
        assert.deepEqual(new Set(arranged.map(({ ranked: { row } }) => row)), new Set(full.pricing.rows));
        assert.equal(arranged.filter(({ leads }) => leads).length, column === 'vendor' ? 9 : 0);
      }),
    );
  });
});

describe('choice of rows', () => {
  test('by words in model and vendor, in any case', () => {
    assert.deepEqual(view('?q=GPT'), ['gpt-4', 'gpt-10']);
    assert.deepEqual(view('?q=openai+10'), ['gpt-10']);
    assert.deepEqual(view('?q=anthropic'), ['claude', 'free']);
    assert.deepEqual(view('?q=nothing'), []);
  });

  test('by vendor, exactly', () => assert.deepEqual(view('?vendor=Anthropic'), ['claude']));
  test('by quota type', () => assert.deepEqual(view('?type=request'), ['flux']));
  test('by group, also where two show the same name', () => {
    assert.deepEqual(view('?group=b'), ['flux', 'gpt-4']);
    assert.equal(view('?group=a').length, 5);
  });
  test('by all at once', () =>
    assert.deepEqual(view('?group=b&type=token&vendor=OpenAI&q=gpt&sort=-model'), ['gpt-4']));
  test('what is not on the list is ignored', () =>
    assert.equal(view('?vendor=Nobody&type=x&group=none&sort=-nothing').length, 5));

  test('the first visible row of a vendor leads, whatever is hidden before it', () => {
    const query = parsePricingQuery(new URLSearchParams('?q=10'), state.pricing);
    assert.deepEqual(
      arrangeRows(ranked, query, undefined)
        .filter(({ leads }) => leads)
        .map(({ ranked: { row } }) => row.modelName),
      ['gpt-10'],
    );
  });
});

describe('query', () => {
  test("the last of several counts: a heading's button adds its order behind the form's", () => {
    assert.deepEqual(parsePricingQuery(new URLSearchParams('?sort=vendor&sort=-model'), state.pricing).sort, {
      column: 'model',
      descending: true,
    });
  });

  test('text has a limit', () => {
    assert.equal(parsePricingQuery(new URLSearchParams({ q: 'x'.repeat(5000) }), state.pricing).text.length, 200);
  });

  test('any query string gives a view, and the view gives itself back', () => {
    fc.assert(
      fc.property(fc.string(), (search) => {
        const query = parsePricingQuery(new URLSearchParams(search), state.pricing);
        assert.deepEqual(parsePricingQuery(new URLSearchParams(searchOf(query)), state.pricing), query);
      }),
    );
  });

  test('different views have different keys', () => {
    const keys = ['', '?q=a', '?vendor=BFL', '?type=token', '?group=a', '?sort=-vendor'].map((search) =>
      queryKey(parsePricingQuery(new URLSearchParams(search), state.pricing)),
    );
    assert.equal(new Set(keys).size, keys.length);
  });
});

function searchOf({ text, vendor, quotaType, group, sort }: PricingQuery): string {
  return new URLSearchParams({
    q: text,
    vendor: vendor ?? '',
    type: quotaType?.toLowerCase() ?? '',
    group: group ?? '',
    sort: formatSort(sort),
  }).toString();
}

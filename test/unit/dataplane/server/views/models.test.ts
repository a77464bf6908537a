import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, test } from 'vitest';
import { GatewayError } from '../../../../../dataplane/errors.ts';
import {
  anthropicModel,
  anthropicModels,
  callableModel,
  callableModels,
  openaiModel,
  openaiModels,
} from '../../../../../dataplane/server/views/models.ts';
import type { Offer } from '../../../../../dataplane/state/state.ts';
import { sampleState } from '../pricing/sample.ts';

const state = sampleState({
  tokens: [
    ['b-model', 'Beta', '1', '1', '1'],
    ['a-model', 'Alpha', '1', '1', '1'],
    ['c-model', 'Gamma', '1', '1', '1'],
    ['elsewhere', 'Delta', '1', '1', '1'],
  ],
  groups: [
    {
      name: 'g',
      models: ['b-model', 'a-model', 'c-model', 'unpriced'],
    },
    { name: 'smart', members: ['g'] },
    { name: 'none', models: ['other'] },
  ],
  routed: ['b-model', 'a-model', 'c-model', 'elsewhere', 'unpriced'],
});

function names(group: string, models?: readonly string[]): string[] {
  return callableModels(state, { group, models: models && new Set(models) }).map(({ model }) => model);
}

function manyOffers(count: number): Offer[] {
  const many = sampleState({
    tokens: Array.from(
      { length: count },
      (_, index) => [`m-${String(index).padStart(4, '0')}`, 'v', '1', '1', '1'] as const,
    ),
    groups: [{ name: 'g' }],
  });
  return callableModels(many, { group: 'g', models: undefined });
}

describe('models a key can call', () => {
  test("are its group's priced ones, by name", () => assert.deepEqual(names('g'), ['a-model', 'b-model', 'c-model']));
  test("of an automatic group are its members'", () =>
    assert.deepEqual(names('smart'), ['a-model', 'b-model', 'c-model']));
  test('are narrowed by the key, never widened', () =>
    assert.deepEqual(names('g', ['c-model', 'elsewhere', 'unpriced', 'nothing']), ['c-model']));
  test('are none if the group has none, or is deleted', () => {
    assert.deepEqual(names('none'), []);
    assert.deepEqual(names('gone'), []);
  });

  test('have a channel that serves them', () => {
    const group = state.groups.get('g');
    const offer = group?.offers.get('a-model');
    assert.ok(group && offer);
    const groups = new Map([['g', { ...group, offers: new Map([['a-model', { ...offer, tiers: [[]] }]]) }]]);
    assert.deepEqual(callableModels({ groups }, { group: 'g', models: undefined }), []);
    assert.equal(callableModel({ groups }, { group: 'g', models: undefined }, 'a-model'), undefined);
  });

  test('have a price that bounds them: images and videos one per generation', () => {
    const group = state.groups.get('g');
    const offer = group?.offers.get('a-model');
    assert.ok(group && offer);
    const list = (endpoints: Offer['endpoints'], quotaType: Offer['quotaType']): number =>
      callableModels(
        { groups: new Map([['g', { ...group, offers: new Map([['a-model', { ...offer, endpoints, quotaType }]]) }]]) },
        { group: 'g', models: undefined },
      ).length;
    assert.equal(list(new Set(['Images']), 'Token'), 0);
    assert.equal(list(new Set(['Images']), 'Request'), 1);
    assert.equal(list(new Set(['Images', 'Chat']), 'Token'), 1);
  });

  test('are the same one by one', () => {
    for (const group of ['g', 'smart', 'none', 'gone']) {
      for (const models of [undefined, new Set(['a-model', 'unpriced'])]) {
        const listed = callableModels(state, { group, models });
        for (const name of ['a-model', 'b-model', 'c-model', 'elsewhere', 'unpriced', 'toString']) {
          assert.equal(
            callableModel(state, { group, models }, name),
            listed.find(({ model }) => model === name),
          );
        }
      }
    }
  });
});

describe('OpenAI shape', () => {
  const offers = callableModels(state, { group: 'g', models: undefined });

  test('describes one model and all', () => {
    const [first] = offers;
    assert.ok(first);
    assert.deepEqual(openaiModel(first), {
      id: 'a-model',
      object: 'model',
      created: Date.UTC(2026, 0, 1) / 1000,
      owned_by: 'Alpha',
      endpoints: ['/v1/chat/completions', '/v1/messages'],
      input_modalities: ['text'],
      output_modalities: ['text'],
      context_length: 200_000,
      max_output_tokens: 64_000,
    });
    assert.deepEqual(openaiModels(offers), { object: 'list', data: offers.map(openaiModel) });
    assert.deepEqual(openaiModels([]), { object: 'list', data: [] });
  });

  test('can be read by the official SDK', async () => {
    const client = new OpenAI({ apiKey: 'sk-test', fetch: () => Promise.resolve(Response.json(openaiModels(offers))) });
    const read: string[] = [];
    for await (const model of client.models.list()) read.push(`${model.id} ${model.owned_by}`);
    assert.deepEqual(read, ['a-model Alpha', 'b-model Beta', 'c-model Gamma']);
  });
});

describe('Anthropic shape', () => {
  const offers = callableModels(state, { group: 'g', models: undefined });

  test('describes one model', () => {
    const [first] = offers;
    assert.ok(first);
    const { capabilities, ...model } = anthropicModel(first);
    assert.deepEqual(model, {
      type: 'model',
      id: 'a-model',
      display_name: 'a-model',
      created_at: '1970-01-01T00:00:00Z',
      max_input_tokens: 200_000,
      max_tokens: 64_000,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
    });
    const yes = { supported: true };
    const no = { supported: false };
    assert.deepEqual(capabilities, {
      batch: no,
      citations: no,
      code_execution: no,
      image_input: no,
      pdf_input: no,
      structured_outputs: yes,
      context_management: {
        ...no,
        clear_thinking_20251015: null,
        clear_tool_uses_20250919: null,
        compact_20260112: null,
      },
      effort: { ...yes, low: yes, medium: yes, high: yes, max: no, xhigh: null },
      server_tools: { ...no, code_execution: no, web_search: no },
      thinking: { ...yes, types: { adaptive: no, between_tools: no, disabled: yes, enabled: yes } },
    } satisfies Anthropic.ModelCapabilities);
  });

  test('has the limits of every channel, and null if there is none', () => {
    const [offer] = offers;
    const candidate = offer?.tiers[0]?.[0];
    assert.ok(offer && candidate);
    const limited = (contextTokens: number, maxOutputTokens: number) => ({
      ...candidate,
      model: { ...candidate.model, contextTokens, maxOutputTokens },
    });
    const { max_input_tokens, max_tokens } = anthropicModel({
      ...offer,
      tiers: [[limited(100, 0)], [limited(50, 0), limited(0, 0)]],
    });
    assert.deepEqual([max_input_tokens, max_tokens], [50, null]);
  });

  test('of a list has its first and last id, and null if it is empty', () => {
    const { data, ...page } = anthropicModels(offers, {});
    assert.equal(data.length, 3);
    assert.deepEqual(page, { has_more: false, first_id: 'a-model', last_id: 'c-model' });
    assert.deepEqual(anthropicModels([], {}), { data: [], has_more: false, first_id: null, last_id: null });
  });

  test('pages forwards and backwards', () => {
    const ids = (query: Parameters<typeof anthropicModels>[1]): unknown[] => {
      const { data, has_more } = anthropicModels(offers, query);
      return [...data.map(({ id }) => id), has_more];
    };
    assert.deepEqual(ids({ limit: '2' }), ['a-model', 'b-model', true]);
    assert.deepEqual(ids({ limit: '2', after_id: 'b-model' }), ['c-model', false]);
    assert.deepEqual(ids({ limit: '1', before_id: 'c-model' }), ['b-model', true]);
    assert.deepEqual(ids({ before_id: 'a-model' }), [false]);
    assert.deepEqual(ids({ after_id: 'aa-vanished' }), ['b-model', 'c-model', false]);
    assert.deepEqual(ids({ before_id: '', after_id: '' }), ['a-model', 'b-model', 'c-model', false]);
    assert.equal(anthropicModels(manyOffers(25), {}).data.length, 20);
  });

  test('refuses an invalid limit or cursor', () => {
    for (const limit of ['0', '1001', '-1', '1.5', 'ten', '']) {
      assert.throws(
        () => anthropicModels(offers, { limit }),
        (error) => error instanceof GatewayError && error.code === 'invalid_request' && error.details.param === 'limit',
      );
    }
    assert.throws(() => anthropicModels(offers, { after_id: 'a', before_id: 'b' }), GatewayError);
  });

  test('has pages that add up to the list, for the official SDK, in both directions', async () => {
    const all = manyOffers(47);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), async (limit) => {
        const client = new Anthropic({
          apiKey: 'sk-test',
          fetch: (request) =>
            Promise.resolve(
              Response.json(anthropicModels(all, Object.fromEntries(new URL(new Request(request).url).searchParams))),
            ),
        });
        const forwards: string[] = [];
        for await (const { id } of client.models.list({ limit })) forwards.push(id);
        assert.deepEqual(
          forwards,
          all.map(({ model }) => model),
        );

        const backwards: string[] = [];
        const last = await client.models.list({ limit, before_id: 'z' });
        for await (const page of last.iterPages()) {
          backwards.unshift(...page.data.map(({ id }) => id));
        }
        assert.deepEqual(backwards, forwards);
      }),
      { numRuns: 15 },
    );
  });
});

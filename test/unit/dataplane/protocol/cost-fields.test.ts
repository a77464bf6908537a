import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { findCostFields, isAllowedField, OPENAI_COST_FIELDS } from '../../../../dataplane/protocol/cost-fields.ts';
import { asksForReasoning, hidesReasoning } from '../../../../dataplane/protocol/hidden-reasoning.ts';
import { ImageCounter } from '../../../../dataplane/protocol/openai/image-counter.ts';

const find = (request: Record<string, unknown>, ...known: string[]): readonly string[] =>
  findCostFields(request, OPENAI_COST_FIELDS, new Set(known));

describe('fields that change the price', () => {
  it('are found in any spelling, and in the objects where providers read settings', () => {
    const spelled = { n_predict: 1, numPredict: 1, 'NUM-PREDICT': 1 };
    assert.deepEqual(find(spelled), Object.keys(spelled));
    assert.deepEqual(find({ extra_body: { google: { thinkingConfig: { thinkingBudget: 9 } } } }), [
      'extra_body.google.thinkingConfig.thinkingBudget',
    ]);
    assert.deepEqual(find({ input: { prompt: 'a cat', n: 4 } }), ['input.n']);
    assert.deepEqual(find({ input: [{ n: 4 }] }), []);
    assert.deepEqual(find({ metadata: { n_predict: 1 }, tools: [{ batch_size: 2 }] }), []);
  });
  it('are ignored if they are known, or have the default value', () => {
    const read = { n: 2, best_of: 2, reasoning: { max_tokens: 3 } };
    assert.deepEqual(find(read, 'n', 'best_of', 'reasoning.max_tokens'), []);
    assert.deepEqual(find({ batch_size: 1, thinking_budget: 0, n_predict: null, max_images: false }), []);
    const given = { batch_size: 0, n_predict: 0, thinking_budget: -1 };
    assert.deepEqual(find(given), Object.keys(given));
  });
  it('are allowed by name or by path', () => {
    const allowed = new Set(['thinking_budget', 'options.n_predict']);
    const paths = ['thinking_budget', 'extra.thinking_budget', 'options.n_predict', 'n_predict'];
    assert.deepEqual(
      paths.map((path) => isAllowedField(path, allowed)),
      [true, true, true, false],
    );
  });
  it('are not searched at any depth: deeply nested settings count as one', () => {
    const nested = (depth: number): Record<string, unknown> =>
      JSON.parse(`${'{"options":'.repeat(depth)}{"top_k":1}${'}'.repeat(depth)}`) as Record<string, unknown>;
    assert.deepEqual(find(nested(8)), []);
    assert.deepEqual(find(nested(400)), [Array.from({ length: 9 }, () => 'options').join('.')]);
  });
});

describe('hidden reasoning', () => {
  it("depends on the model's name at its provider", () => {
    const hidden = [
      'o3',
      'o4-mini',
      'openai/o1-pro',
      'gpt-5-mini',
      'openai/gpt-5.2',
      'gemini-2.5-pro',
      'x/gemini-3',
      'gemini-3-pro-image-preview',
      'grok-4',
    ];
    for (const name of hidden) assert.equal(hidesReasoning(name, false), true, name);
    const none = [
      'gpt-4o',
      'gpt-5-chat-latest',
      'grok-4-fast-non-reasoning',
      'claude-haiku-4-5',
      'llama-3',
      'foo3',
      'google/gemini-2.5-flash-image-preview',
    ];
    for (const name of none) assert.equal(hidesReasoning(name, false), false, name);
  });
  it('or on the request, unless the model is known to show its reasoning', () => {
    assert.equal(hidesReasoning('claude-haiku-4-5', true), true);
    for (const name of ['deepseek-reasoner', 'qwen3-235b', 'gpt-oss-120b'])
      assert.equal(hidesReasoning(name, true), false, name);
    const asks = [
      { reasoning_effort: 'low' },
      { thinking: { type: 'adaptive' } },
      { reasoning: { effort: 'high' } },
      { reasoning: { max_tokens: 5 } },
    ];
    for (const request of asks) assert.equal(asksForReasoning(request), true, JSON.stringify(request));
    for (const request of [{}, { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }, { reasoning: null }])
      assert.equal(asksForReasoning(request), false, JSON.stringify(request));
  });
});

describe('images in the chunks of a response', () => {
  it('are counted once, in chunks of any size', () => {
    const images = '{"b64_json":"AA","url":null},{"url":null,"b64_json":"BB","revised_prompt":"a \\"b64_json\\": x"}';
    const text = Buffer.from(`{"data":[${images}]}`);
    for (let at = 0; at <= text.length; at++) {
      const counter = new ImageCounter();
      for (const piece of [text.subarray(0, at), text.subarray(at)]) counter.add(piece);
      assert.equal(counter.images, 2, `split at ${at}`);
    }
    const counter = new ImageCounter();
    for (const byte of text) counter.add(Uint8Array.of(byte));
    assert.equal(counter.images, 2);
  });
});

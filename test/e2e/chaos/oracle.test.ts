/** The oracle's prices against figures computed by hand, and what it takes from an answer. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { edited } from '../../chaos/config.ts';
import type { AnswerFate, Asked } from '../../chaos/fate.ts';
import type { Figures, ListedRequest } from '../../chaos/figures.ts';
import {
  billedSeconds,
  expectedTokens,
  NO_PARTS,
  NO_TOKENS,
  partsOf,
  priceOf,
  requestsOf,
} from '../../chaos/oracle.ts';
import type { Priced } from '../../chaos/oracle.ts';
import { planRound } from '../../chaos/plan.ts';

const {
  config: drawn,
  calls: [plan = assert.fail()],
} = planRound(7, 1);
const config = (
  [
    ['omni-model', '2'],
    ['sized-image-model', '0.005'],
  ] as const
).reduce((before, [model, ratio]) => edited(before, { kind: 'price', model, ratio }), drawn);

function cost(what: Partial<Priced> & Pick<Priced, 'model' | 'channel'>): bigint {
  return priceOf(
    config,
    { key: 'free', group: 'main' },
    {
      tier: undefined,
      region: undefined,
      searches: 0,
      tokens: NO_TOKENS,
      details: NO_PARTS,
      requests: [],
      generations: 1,
      look: {},
      served: {},
      ...what,
    },
  );
}

function listed(type: ListedRequest['type'], input: number, output: number): ListedRequest {
  return { type, model: undefined, tier: undefined, input, cached: 0, written: 0, output };
}

test('parts have rates of their own, and there are no more of them than of the whole', () => {
  const what = {
    model: 'omni-model',
    channel: 'openai/first',
    tokens: { ...NO_TOKENS, input: 100, cached: 10, output: 50 },
    details: { imageInput: 30, audioInput: 90, reasoning: 45, imageOutput: 10, audioOutput: 20 },
  };
  // 30·1.700000001 + 70·6.3 + 10·0.3 + 45·21.000000007 + 5·6.5
  assert.equal(cost(what), 1_472_500n);
  // above 350 tokens: 400·2·1.7 + 45·21.000000007·1.2 + 5·5.000000003·1.2
  const long = { ...NO_TOKENS, input: 400, output: 50 };
  assert.equal(cost({ ...what, tokens: long, details: { ...NO_PARTS, reasoning: 45 } }), 2_524_000n);
});

test('each request of a call is in the step of its own length, and in its own tier', () => {
  const what = {
    model: 'claude-model',
    channel: 'anthropic/second',
    searches: 2,
    tokens: { ...NO_TOKENS, input: 1500, output: 15 },
  };
  // (1000·0.8 + 10·3)·1.6 + 500·0.5 + 5·2.1, and two searches
  assert.equal(cost({ ...what, requests: [{ ...listed('message', 1000, 10), tier: 'priority' }] }), 2_188_514n);
  assert.equal(cost(what), 1_845_014n);
  // no request is above the context, so that none is in the step that begins there
  assert.equal(cost({ ...what, searches: 0, tokens: { ...NO_TOKENS, input: 7000 } }), 5_600_000n);
});

test('an image costs what it looks like, and no more than what was asked for', () => {
  const images = (look: Priced['look'], served: Priced['served'] = {}): bigint =>
    cost({ model: 'sized-image-model', channel: 'openai/first', generations: 2, look, served });
  const low = { size: '1024x1024', quality: 'low' };
  assert.equal(images(low), 2_000_002n);
  assert.equal(images(low, { quality: 'high' }), 2_000_002n);
  assert.equal(images({}, low), 2_000_002n);
  assert.equal(images({}), 24_600_000n);
  assert.equal(images({ size: '256x256', quality: 'medium' }), 10_000_000n);
});

test('a second of a video is billed as far as it was asked for', () => {
  assert.deepEqual(
    [8, '8', 3, '3', 2.1, 9, '8000', 0, -1, null, undefined, 'long', 86_401].map((said) => billedSeconds(8, said)),
    [8, 8, 3, 3, 3, 8, 8, 8, 8, 8, 8, 8, 8],
  );
});

const ASKED: Asked = {
  n: 0,
  channel: 'anthropic/first',
  protocol: 'Anthropic',
  kind: 'chat',
  stream: false,
  limit: 100,
  answers: 1,
  bodyBytes: 300,
  searches: 1,
  media: new Set(['audioInput']),
  look: {},
  seconds: 0,
};
const FIGURES: Figures = {
  input: 30,
  cached: 0,
  written: 0,
  output: 30,
  searches: 1,
  details: {},
  requests: undefined,
};
const FATE: AnswerFate = {
  kind: 'answer',
  headMs: 0,
  pieces: ['x'],
  pieceMs: 0,
  lie: 'honest',
  figures: FIGURES,
  broken: undefined,
  tier: undefined,
  region: undefined,
  look: {},
  seconds: undefined,
  videoId: '',
  noise: false,
};
const fate = (figures: Partial<Figures>): AnswerFate => ({ ...FATE, figures: { ...FIGURES, ...figures } });

test('requests count if they add up to the call, or are besides it', () => {
  const [first, second, other] = [listed('message', 10, 20), listed('message', 20, 10), listed('compaction', 5, 5)];
  assert.deepEqual(requestsOf(fate({ requests: [first, second] })), [first, second]);
  assert.deepEqual(requestsOf(fate({ requests: [first] })), []);
  assert.deepEqual(requestsOf(fate({ requests: [first, second, other] })), [other]);
  const { tokens, source } = expectedTokens(plan, fate({ requests: [other] }), ASKED);
  assert.deepEqual([tokens.input, tokens.output, source], [35, 35, 'Provider']);
  const much = expectedTokens(plan, fate({ requests: [listed('compaction', 50_000, 90)] }), ASKED);
  assert.deepEqual([much.tokens.input, much.tokens.output, much.source], [12_000, 100, 'Implausible']);
});

test('parts count if they are counts, of what the request has or asks for', () => {
  const details = { audioInput: 2.5, imageInput: 7, reasoning: 9, imageOutput: '3', audioOutput: 1e300 };
  assert.deepEqual(partsOf(fate({ details }), ASKED), { ...NO_PARTS, audioInput: 3, reasoning: 9 });
});

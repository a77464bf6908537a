/** Usage of providers, which is used only if it is plausible, and its estimates. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import {
  mergeUsage,
  NO_USAGE as NO_ANTHROPIC,
  readUsage as readAnthropic,
  toReportedUsage as reportAnthropic,
} from '../../../../dataplane/protocol/anthropic/usage.ts';
import { meterMessage, MessageEventMeter } from '../../../../dataplane/protocol/anthropic/stream-meter.ts';
import type { ChatFacts } from '../../../../dataplane/protocol/call-facts.ts';
import { boundInput, estimateInput, estimateTokens } from '../../../../dataplane/protocol/estimate.ts';
import { embeddingsConverter } from '../../../../dataplane/protocol/openai/embeddings.ts';
import { meterResponse, ResponseMeter } from '../../../../dataplane/protocol/openai/response-meter.ts';
import { ChunkMeter } from '../../../../dataplane/protocol/openai/stream-meter.ts';
import {
  readUsage as readOpenAi,
  toReportedUsage as reportOpenAi,
} from '../../../../dataplane/protocol/openai/usage.ts';
import {
  fillUsage,
  largerCounts,
  meterOf,
  readTokenCount,
  UNREPORTED_USAGE,
} from '../../../../dataplane/protocol/usage.ts';
import { readUsageAtEnds } from '../../../../dataplane/protocol/usage-at-ends.ts';

const openai = (usage: object): object => reportOpenAi(readOpenAi(usage as Record<string, unknown>));
const anthropic = (...events: object[]): object =>
  reportAnthropic(
    events.map((usage) => readAnthropic(usage as Record<string, unknown>)).reduce(mergeUsage, NO_ANTHROPIC),
  );
const said = (figures: object): object =>
  Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined));

test('an impossible token count is not reported', () => {
  for (const lie of [-1, Number.NaN, Infinity, 1e300, 2 ** 31, '5', null, undefined, true, [], {}, -0.5])
    assert.equal(readTokenCount(lie), undefined, JSON.stringify(lie));
  assert.deepEqual([0, 5, 5.2, 2 ** 31 - 1].map(readTokenCount), [0, 5, 6, 2 ** 31 - 1]);
});

test('OpenAI: prompt_tokens include cached and written tokens, each in one class', () => {
  assert.deepEqual(
    said(
      openai({
        prompt_tokens: 12000,
        completion_tokens: 800,
        prompt_tokens_details: { cached_tokens: 10000 },
      }),
    ),
    { input: 2000, cached: 10000, output: 800 },
  );
  assert.deepEqual(
    said(
      openai({
        prompt_tokens: 100,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 80, cache_write_tokens: 60 },
      }),
    ),
    { input: 0, cached: 80, cacheWrite5m: 20, output: 1 },
  );
  assert.deepEqual(
    said(
      openai({
        prompt_tokens: 5,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 80 },
      }),
    ),
    { input: 0, cached: 5, output: 1 },
  );
  assert.deepEqual(said(openai({ prompt_tokens: 30, completion_tokens: 1, prompt_cache_hit_tokens: 10 })), {
    input: 20,
    cached: 10,
    output: 1,
  });
});

test('OpenAI: missing is not zero', () => {
  assert.deepEqual(said(openai({})), {});
  assert.deepEqual(said(openai({ prompt_tokens: '5', completion_tokens: -1 })), {});
  assert.deepEqual(said(openai({ completion_tokens: 0 })), { output: 0 });
  assert.deepEqual(said(openai({ prompt_tokens: 5, total_tokens: 9 })), { input: 5, output: 4 });
  assert.deepEqual(said(openai({ prompt_tokens: 5, total_tokens: 3 })), { input: 5 });
});

test('OpenAI: reasoning beside completion_tokens counts as output if the total proves it', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 100 } };
  assert.deepEqual(said(openai({ prompt_tokens: 30, completion_tokens: 2, total_tokens: 132, ...details })), {
    input: 30,
    output: 102,
    details: { reasoning: 100 },
  });
  assert.deepEqual(said(openai({ prompt_tokens: 30, completion_tokens: 120, total_tokens: 150, ...details })), {
    input: 30,
    output: 120,
    details: { reasoning: 100 },
  });
  assert.deepEqual(said(openai({ prompt_tokens: 30, completion_tokens: 2, ...details })), {
    input: 30,
    output: 2,
    details: { reasoning: 100 },
  });
});

test('OpenAI: the input never exceeds the prompt', () => {
  const figure = fc.oneof(fc.nat(5000), fc.double(), fc.constantFrom(null, '7', -3, 1e300));
  fc.assert(
    fc.property(figure, figure, figure, (prompt, cached, written) => {
      const report = reportOpenAi(
        readOpenAi({
          prompt_tokens: prompt,
          completion_tokens: 1,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        }),
      );
      for (const count of Object.values(report))
        assert.ok(count === undefined || (Number.isSafeInteger(count) && count >= 0));
      if (report.input !== undefined)
        assert.equal(report.input + (report.cached ?? 0) + (report.cacheWrite5m ?? 0), readTokenCount(prompt));
    }),
  );
});

test('Anthropic: counts are merged field by field and never summed', () => {
  const start = { input_tokens: 25, cache_read_input_tokens: 7, cache_creation_input_tokens: null, output_tokens: 1 };
  assert.deepEqual(said(anthropic(start, { output_tokens: 15 })), { input: 25, cached: 7, output: 15 });
  assert.deepEqual(
    said(anthropic(start, { input_tokens: null, output_tokens: 15 }, { input_tokens: 10682, output_tokens: 510 })),
    { input: 10682, cached: 7, output: 510 },
  );
  assert.deepEqual(said(anthropic(start, { output_tokens: 15 }, { output_tokens: -3 })), {
    input: 25,
    cached: 7,
    output: 15,
  });
});

test("Anthropic: message_start's counts are not final if a stream's last ones are implausible", () => {
  const metered = (...last: object[]): object => {
    const meter = new MessageEventMeter();
    meter.add({ type: 'message_start', message: { usage: { input_tokens: 25, output_tokens: 1 } } });
    meter.add({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(400) } });
    for (const event of last) meter.add(event as Record<string, unknown>);
    return { final: meter.meter.final, output: meter.meter.reported.output };
  };
  const stopped = (usage: object): object => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
  for (const lie of ['12', -3, 1e300, null])
    assert.deepEqual(metered(stopped({ output_tokens: lie })), { final: false, output: 1 });
  assert.deepEqual(metered(stopped({})), { final: false, output: 1 });
  assert.deepEqual(metered(stopped({ output_tokens: 90 })), { final: true, output: 90 });
  assert.deepEqual(
    metered({ type: 'message_delta', delta: {}, usage: { output_tokens: 90 } }, { type: 'message_stop', usage: {} }),
    { final: true, output: 90 },
  );
});

test("OpenAI: counts from before the last text are not final if a stream's last ones are implausible", () => {
  const metered = (completion: unknown): boolean => {
    const meter = new ChunkMeter();
    meter.add({ choices: [{ index: 0, delta: { content: 'a' } }], usage: { prompt_tokens: 5, completion_tokens: 1 } });
    meter.add({ choices: [{ index: 0, delta: { content: 'b'.repeat(400) }, finish_reason: 'stop' }] });
    meter.add({ choices: [], usage: { prompt_tokens: 5, completion_tokens: completion } });
    return meter.meter.final;
  };
  for (const lie of ['12', -3, 1e300, null]) assert.equal(metered(lie), false);
  assert.equal(metered(100), true);
});

test('Anthropic: cache writes beyond or without a split are five-minute ones', () => {
  const split = (five: number, hour: number): object => ({
    cache_creation: { ephemeral_5m_input_tokens: five, ephemeral_1h_input_tokens: hour },
  });
  assert.deepEqual(said(anthropic({ cache_creation_input_tokens: 4000 })), { cacheWrite5m: 4000 });
  assert.deepEqual(said(anthropic({ cache_creation_input_tokens: 4000, ...split(3000, 1000) })), {
    cacheWrite5m: 3000,
    cacheWrite1h: 1000,
  });
  assert.deepEqual(said(anthropic({ cache_creation_input_tokens: 4500, ...split(3000, 1000) })), {
    cacheWrite5m: 3500,
    cacheWrite1h: 1000,
  });
  assert.deepEqual(said(anthropic({ cache_creation_input_tokens: 10, ...split(3000, 1000) })), {
    cacheWrite5m: 3000,
    cacheWrite1h: 1000,
  });
  assert.deepEqual(said(anthropic(split(0, 900))), { cacheWrite5m: 0, cacheWrite1h: 900 });
  assert.deepEqual(
    said(
      anthropic({
        cache_creation_input_tokens: 900,
        cache_creation: { ephemeral_1h_input_tokens: 900 },
      }),
    ),
    { cacheWrite5m: 0, cacheWrite1h: 900 },
  );
});

const FACTS: ChatFacts = {
  model: 'm',
  stream: false,
  wantsStreamUsage: false,
  maxOutputTokens: undefined,
  answers: 1,
  textBytes: 1000,
  units: 2,
  images: 0,
  imageParam: undefined,
  files: 0,
  predictionTokens: 0,
  thinkingBudget: undefined,
  fixedOutput: false,
  oneHourCache: false,
  unbounded: [],
};
const MODEL = { contextTokens: 200_000, imageTokens: 4096 };

test('the bound covers the bytes, the images and the files, up to the context', () => {
  const plain = boundInput(FACTS, MODEL);
  assert.ok(plain > 1000 && plain < 1300);
  assert.equal(boundInput({ ...FACTS, images: 3 }, MODEL), plain + 3 * 4096);
  assert.equal(boundInput({ ...FACTS, files: 1 }, MODEL), 200_000);
  assert.equal(boundInput({ ...FACTS, textBytes: 5_000_000 }, MODEL), 200_000);
});

test('the estimate is below the bound, and never zero', () => {
  fc.assert(
    fc.property(
      fc.record({
        textBytes: fc.nat(10_000_000),
        units: fc.integer({ min: 1, max: 1000 }),
        images: fc.nat(20),
        files: fc.nat(3),
      }),
      (some) => {
        const facts = { ...FACTS, ...some };
        const estimate = estimateInput(facts, MODEL);
        assert.ok(estimate > 0 && estimate <= boundInput(facts, MODEL) && Number.isSafeInteger(estimate));
      },
    ),
  );
  assert.deepEqual([0, 1, 4, 5, 400].map(estimateTokens), [0, 1, 1, 2, 100]);
});

test('usage is found at either end of a large answer', () => {
  const ends = (head: string, tail: string): object =>
    readUsageAtEnds('OpenAI', { head: Buffer.from(head), tail: Buffer.from(tail), size: 9_000_000 });
  const found = {
    reported: {
      input: 5,
      cached: undefined,
      cacheWrite5m: undefined,
      cacheWrite1h: undefined,
      output: 6,
    },
    final: true,
    outputBytes: 9_000_000,
  };
  assert.deepEqual(ends('{"choices":[', '…"}}],"usage" : {"prompt_tokens":5,"completion_tokens":6},"x":1}'), found);
  assert.deepEqual(ends('{"usage":{"prompt_tokens":5,"completion_tokens":6},"choices":[', '…"}]}'), found);
  assert.deepEqual(
    ends(
      '{"usage":{"prompt_tokens":5,"completion_tokens":6},"choices":[',
      'the \\"usage\\":{\\"prompt_tokens\\":1} and "usage": null, "usage": {"prompt_tok',
    ),
    found,
  );
  assert.deepEqual(ends('{', '"content":"\\"usage\\":{"}]}'), {
    reported: {
      input: undefined,
      cached: undefined,
      cacheWrite5m: undefined,
      cacheWrite1h: undefined,
      output: undefined,
    },
    final: false,
    outputBytes: 9_000_000,
  });
  const claude = readUsageAtEnds('Anthropic', {
    head: Buffer.from('{'),
    tail: Buffer.from('],"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":6}}'),
    size: 1,
  });
  assert.deepEqual(said(claude.reported), { input: 5, cached: 2, output: 6 });
});

const chunks = (...usages: object[]): object => {
  const meter = new ChunkMeter();
  meter.add({ choices: [{ index: 0, delta: { content: 'x'.repeat(400) }, finish_reason: 'stop' }] });
  for (const usage of usages) meter.add({ choices: [], usage });
  return { final: meter.meter.final, ...said(meter.meter.reported) };
};
const messages = (start: object, delta: object): object => {
  const meter = new MessageEventMeter();
  meter.add({ type: 'message_start', message: { usage: start } });
  meter.add({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(400) } });
  meter.add({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: delta });
  return { final: meter.meter.final, ...said(meter.meter.reported) };
};

test('of cumulative counts the larger one counts, and classes are told apart afterwards', () => {
  const used = { prompt_tokens: 1000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 900 } };
  const zeros = {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    prompt_tokens_details: { cached_tokens: 0 },
  };
  const right = { final: true, input: 100, cached: 900, output: 50 };
  assert.deepEqual(chunks(used, zeros), right);
  assert.deepEqual(chunks(zeros, used), right);
  assert.deepEqual(
    chunks(
      { prompt_tokens: 1000, prompt_tokens_details: { cached_tokens: 900 } },
      { ...used, prompt_tokens_details: null },
    ),
    right,
  );
  const response = new ResponseMeter();
  response.addDelta('x'.repeat(400));
  response.addResponse({ usage: { input_tokens: 30, output_tokens: 12 } }, false);
  response.addResponse({ usage: { input_tokens: 0, output_tokens: 0 } }, true);
  assert.deepEqual(said(response.meter.reported), { input: 30, output: 12 });
  assert.deepEqual(largerCounts({ a: 5, b: { c: 7, d: 1 } }, { a: -1, b: { c: 2, d: 2 }, e: null }), {
    a: 5,
    b: { c: 7, d: 2 },
  });
});

test("Anthropic: zeros of message_delta do not replace message_start's input, and no token is in two classes", () => {
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 12 };
  const start = { input_tokens: 30, cache_read_input_tokens: 4000, output_tokens: 1 };
  assert.deepEqual(messages({ input_tokens: 30, output_tokens: 1 }, zeros), {
    final: true,
    input: 30,
    output: 12,
  });
  assert.deepEqual(messages(start, zeros), { final: true, input: 30, cached: 4000, output: 12 });
  // an estimate first
  assert.deepEqual(
    messages({ input_tokens: 1000 }, { input_tokens: 0, cache_read_input_tokens: 900, output_tokens: 12 }),
    {
      final: true,
      input: 0,
      cached: 900,
      output: 12,
    },
  );
  assert.deepEqual(messages({ input_tokens: 77 }, { input_tokens: 12, output_tokens: 5 }), {
    final: true,
    input: 12,
    output: 5,
  });
  assert.deepEqual(messages({ input_tokens: 30 }, { output_tokens: 0 }), { final: false, input: 30 });
  assert.deepEqual(messages({ input_tokens: 0 }, { output_tokens: 40 }), { final: true, output: 40 });
});

test('zero beside text is no count, and is estimated', () => {
  const zero = { ...UNREPORTED_USAGE, input: 0, output: 0 };
  assert.deepEqual(said(meterOf(zero, 400).reported), {});
  assert.equal(meterOf(zero, 400).final, false);
  assert.deepEqual(said(meterOf({ ...zero, input: 50 }, 400).reported), { input: 50 });
  assert.deepEqual(said(meterOf({ ...zero, cached: 50, output: 7 }, 400).reported), {
    input: 0,
    cached: 50,
    output: 7,
  });
  // nothing was generated: both may be believed
  assert.deepEqual(said(meterOf(zero, 0).reported), { input: 0, output: 0 });
  assert.deepEqual(chunks({ prompt_tokens: 0, completion_tokens: 0 }), { final: false });
  const content = [{ type: 'text', text: 'x'.repeat(400) }];
  const usage = { input_tokens: 0, output_tokens: 0 };
  assert.deepEqual(said(meterMessage({ content, usage }).reported), {});
  const output = [{ type: 'message', content }];
  assert.deepEqual(said(meterResponse({ output, usage }).reported), {});
});

test('an input of which only the cached part is told is estimated', () => {
  const report = (usage: object): object =>
    said(fillUsage(meterOf(reportOpenAi(readOpenAi(usage as Record<string, unknown>)), 40), 100));
  const completion = { completion_tokens: 10 };
  assert.deepEqual(report({ ...completion, prompt_tokens_details: { cached_tokens: 40 } }), {
    input: 60,
    cached: 40,
    output: 10,
  });
  assert.deepEqual(report({ ...completion, prompt_tokens: null, prompt_tokens_details: { cached_tokens: 0 } }), {
    input: 100,
    cached: 0,
    output: 10,
  });
});

test("LiteLLM's and new-api's names of cache writes count", () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 10, cache_creation_tokens: 50 },
    cache_creation_input_tokens: 50,
  };
  assert.deepEqual(said(openai(usage)), { input: 40, cached: 10, cacheWrite5m: 50, output: 5 });
});

test('embeddings: a total is the input, and zero is none', () => {
  const metered = (usage: unknown): object => {
    const { meter } = embeddingsConverter.response(Buffer.from(JSON.stringify({ data: [{}], usage })));
    return { final: meter.final, ...said(meter.reported) };
  };
  assert.deepEqual(metered({ total_tokens: 8 }), { final: true, input: 8 });
  assert.deepEqual(metered({ prompt_tokens: 8, total_tokens: 8 }), { final: true, input: 8 });
  assert.deepEqual(metered({ prompt_tokens: 0, total_tokens: 0 }), { final: false });
});

test('images that a tool made are billed as a part of the call, by their own model', () => {
  const response = {
    output: [{ type: 'image_generation_call', result: 'aGVsbG8=' }],
    usage: { input_tokens: 100, output_tokens: 50 },
    tools: [{ type: 'image_generation', model: 'gpt-image-1' }],
    tool_usage: { image_gen: { input_tokens: 30, output_tokens: 4160 } },
  };
  const { reported } = meterResponse(response);
  const { parts = [], ...whole } = reported;
  assert.deepEqual(said(whole), { input: 130, output: 4210, details: { imageOutput: 4160 } });
  assert.deepEqual(parts.map(said), [
    { input: 100, output: 50 },
    { input: 30, output: 4160, details: { imageOutput: 4160 }, model: 'gpt-image-1' },
  ]);
});

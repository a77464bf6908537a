/** Legacy completions: what they are held for, what is sent, and what is seen of their output. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readCompletionsFacts } from '../../../../dataplane/protocol/openai/completion-facts.ts';
import type { Choices } from '../../../../dataplane/protocol/openai/completion-facts.ts';
import { completionsConverter } from '../../../../dataplane/protocol/openai/completions.ts';
import { boundInputs, estimateInputs } from '../../../../dataplane/protocol/openai/token-inputs.ts';
import { refusalOf } from './refusal.ts';
import { assertCutAlike, byteByByte, replay, STREAM_REQUEST } from './replay.ts';

const LIMITS = { contextTokens: 1000, imageTokens: 30 };
/** What a provider may add to a prompt. */
const TEMPLATE = 144;
/** `body`: its bytes, by default none but the prompts. */
const read = (fields: object, body = '') =>
  readCompletionsFacts(Buffer.from(body), { model: 'm', prompt: 'four', ...fields });

test.each([
  ['grün', 5 + TEMPLATE, 2],
  [['four', 'x'.repeat(5000)], 4 + TEMPLATE + 1000, 1148],
  [[1, 2, 3], 3 + TEMPLATE, 3],
  [[[1, 2, 3], [4]], 4 + 2 * TEMPLATE, 4],
  [['four', [1, 2]], 6 + 2 * TEMPLATE, 3],
  [undefined, TEMPLATE, 0],
])('the prompt %j is bounded and estimated', (prompt, bound, estimate) => {
  const facts = read({ prompt });
  assert.deepEqual([boundInputs(facts, LIMITS), estimateInputs(facts, LIMITS)], [bound, estimate]);
});

test('what else is in the body may be read with each prompt, within its context', () => {
  const bound = (fields: object) => boundInputs(read(fields, JSON.stringify(fields)), LIMITS);
  assert.equal(bound({ prompt: 'four', input: 'x' }), 4 + '{"prompt":,"input":"x"}'.length + TEMPLATE);
  assert.equal(
    bound({ prompt: ['a', 'b'], suffix: 'four' }),
    2 * (1 + '{"prompt":,"suffix":"four"}'.length + TEMPLATE),
  );
  assert.equal(bound({ prompt: [123, 456], x: 1 }), 2 + '{"prompt":,"x":1}'.length + TEMPLATE);
  assert.equal(bound({ prompt: ['a', 'b'], x: 'y'.repeat(900) }), 2000);
  assert.equal(bound({ x: 'y'.repeat(900) }), 1000);
});

test('texts beside the prompts are estimated with each, unless no model reads them', () => {
  const estimate = (fields: object) => estimateInputs(read({ prompt: ['a', 'b'], ...fields }), LIMITS);
  assert.equal(estimate({ suffix: 'four' }), 4);
  assert.equal(estimate({ instruction: 'x'.repeat(40), options: { a: 'b' } }), 2 * (1 + 13));
  assert.equal(estimate({ stop: ['four'], user: 'someone', stream_options: {}, n: 2 }), 2);
});

test('an image may fill the context', () => {
  const seeing = read({ prompt: ['a', 'b'], image: 'https://x/a.png' });
  assert.deepEqual([seeing.imageParam, boundInputs(seeing, LIMITS)], ['image', 2000]);
});

test.each([
  [{}, 16, 1, 1],
  [{ max_tokens: null, n: 3 }, 16, 3, 3],
  [{ max_tokens: 7, n: 2, best_of: 5 }, 7, 5, 2],
  [{ max_tokens: 7, n: 2, best_of: 5, prompt: ['a', 'b', 'c'] }, 7, 15, 6],
  [{ max_tokens: 7, n: 4, best_of: 2 }, 7, 4, 4],
  // some providers take it for no limit
  [{ max_tokens: 0 }, undefined, 1, 1],
])('%j is held for its output', (fields, limit, generated, choices) => {
  const facts = read(fields);
  assert.deepEqual([facts.maxOutputTokens, facts.generated, facts.choices.count], [limit, generated, choices]);
});

test.each([
  [{ prompt: [] }, 'prompt'],
  [{ prompt: 5 }, 'prompt'],
  [{ prompt: ['a', 5] }, 'prompt[1]'],
  [{ prompt: [[1, 'a']] }, 'prompt[0]'],
  [{ prompt_embeds: 'AAAA' }, 'prompt_embeds'],
  [{ prompt: undefined, messages: [{ role: 'user', content: 'x' }] }, 'messages'],
  [{ system: 'x' }, 'system'],
  [{ tools: [] }, 'tools'],
  [{ functions: [] }, 'functions'],
  [{ max_tokens: -1 }, 'max_tokens'],
  [{ max_tokens: '9' }, 'max_tokens'],
  [{ n: 0 }, 'n'],
  [{ best_of: 129 }, 'best_of'],
  [{ best_of: 2, stream: true }, 'best_of'],
  [{ prompt: Array.from({ length: 33 }, () => 'a'), n: 128 }, 'prompt'],
  [{ suffix: ['a'] }, 'suffix'],
  [{ echo: 'yes' }, 'echo'],
  [{ stream: true, stream_options: true }, 'stream_options'],
])('%j is refused', (fields, param) => {
  assert.equal(refusalOf(() => read(fields)).param, param);
});

const PLAIN: Choices = { count: 1, generatedForEach: 1, echoed: undefined };

test.each([
  ['{"model":"m","prompt":"a"}', '{"model":"up","prompt":"a","max_tokens":16}'],
  ['{"max_tokens":16,"model":"up", "odd":1.0}', '{"max_tokens":16,"model":"up", "odd":1.0}'],
  ['{"max_tokens":0,"model":"up","echo":true}', '{"max_tokens":0,"model":"up","echo":true}'],
  [
    '{"model":"up","max_tokens":99,"stream":true}',
    '{"model":"up","max_tokens":16,"stream":true,"stream_options":{"include_usage":true}}',
  ],
])('%s is sent with a model, a limit and a wish for usage', (body, sent) => {
  const plan = { upstreamModel: 'up', maxOutputTokens: 16, outputLimitField: 'max_completion_tokens' } as const;
  const request = completionsConverter(PLAIN).request(Buffer.from(body), JSON.parse(body), plan);
  assert.deepEqual([request.path, Buffer.from(request.body).toString()], ['/completions', sent]);
});

const choice = (index: number, text: string, reason: string | null = 'stop') => ({
  index,
  text,
  finish_reason: reason,
});
const meterOf = (choices: Choices, response: object) =>
  completionsConverter(choices).response(Buffer.from(JSON.stringify(response))).meter;

test('the output of a response is what its usage says, or its text', () => {
  const texts = [choice(0, 'four'), choice(1, 'four')];
  const usage = { prompt_tokens: 3, completion_tokens: 9 };
  const counted = meterOf(PLAIN, { choices: texts, usage });
  assert.deepEqual([counted.final, counted.reported.input, counted.reported.output], [true, 3, 9]);
  assert.deepEqual(
    [meterOf(PLAIN, { choices: texts }).final, meterOf(PLAIN, { choices: texts }).outputBytes],
    [false, 8],
  );
  // the best 2 of 5
  assert.equal(meterOf({ count: 2, generatedForEach: 2.5, echoed: undefined }, { choices: texts }).outputBytes, 20);
  for (const wrong of ['x', '{"data":[]}', '{"error":{"message":"no"},"choices":[]}'])
    assert.throws(() => completionsConverter(PLAIN).response(Buffer.from(wrong)));
});

test('what echoes the prompts is no output', () => {
  const echoing: Choices = { count: 4, generatedForEach: 1, echoed: ['one', 'seven'] };
  const choices = [choice(0, 'one+12'), choice(1, 'one'), choice(2, 'seven+1'), choice(3, 'seven')];
  assert.equal(meterOf(echoing, { choices }).outputBytes, 5);
  // a provider may spell the prompt otherwise
  const respelt = [choice(0, '<s>one')];
  const { reported, final } = meterOf(echoing, {
    choices: respelt,
    usage: { prompt_tokens: 2, completion_tokens: 0 },
  });
  assert.deepEqual([reported.output, final], [0, true]);
});

test('only a text that begins with the prompt is an echo', () => {
  const bytesOf = (echoed: Choices['echoed'], text: string) =>
    meterOf({ count: 1, generatedForEach: 1, echoed }, { choices: [choice(0, text)] }).outputBytes;
  assert.equal(bytesOf(['x'.repeat(9000)], 'y'.repeat(9000)), 9000);
  assert.equal(bytesOf(['hello'], 'hell'), 4);
  assert.equal(bytesOf(['hello'], 'hello!'), 1);
  // what tokens read as is not known
  assert.equal(
    bytesOf(readCompletionsFacts(Buffer.from(''), { model: 'm', prompt: [1, 2], echo: true }).choices.echoed, 'abc'),
    3,
  );
});

test.each([
  [['hello'], 'hello', 0],
  [['hel', 'lo', '!'], 'hello', 1],
  // a stream that breaks off, or goes on with something else
  [['hel'], 'hello', 0],
  [['hel', 'p!'], 'hello', 5],
  [['yes', 'no'], 'hello', 5],
])('of a stream with the texts %j after the prompt %j, %i bytes are generated', (texts, prompt, bytes) => {
  const events = texts.map((text) => ({ choices: [choice(0, text, null)] }));
  const open = (echo: Choices) => replay(completionsConverter(echo).stream(STREAM_REQUEST), [stream(...events)]);
  assert.equal(open({ count: 1, generatedForEach: 1, echoed: [prompt] }).meter.outputBytes, bytes);
});

test('reasoning, and the form of chats, are output too', () => {
  const bytesOf = (fields: object) => meterOf(PLAIN, { choices: [{ index: 0, ...fields }] }).outputBytes;
  assert.equal(bytesOf({ text: 'four', reasoning: 'five5' }), 9);
  assert.equal(bytesOf({ message: { role: 'assistant', content: 'four', reasoning_content: 'five5' } }), 9);
  assert.equal(bytesOf({ delta: { content: 'four' } }), 4);
  // the same text in both forms
  assert.equal(bytesOf({ text: 'four', message: { content: 'four' } }), 4);
});

const stream = (...events: readonly (object | string)[]): Buffer =>
  Buffer.from(events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''));

test('a stream has the text of all choices, in chunks of any size', () => {
  const two: Choices = { count: 2, generatedForEach: 1, echoed: ['one'] };
  const bytes = stream(
    { choices: [choice(0, 'on', null)] },
    { choices: [choice(1, 'one', null), choice(0, 'e+1', null)] },
    { choices: [choice(0, '')] },
    { choices: [choice(1, '+two')] },
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 4 } },
    '[DONE]',
  );
  const open = () => completionsConverter(two).stream(STREAM_REQUEST);
  const whole = replay(open(), byteByByte(bytes));
  assert.deepEqual([whole.outcome, whole.last], ['Complete', 'data: [DONE]\n\n']);
  assert.ok(!whole.sent.includes('usage'));
  const { outputBytes, outputTexts, final, reported } = whole.meter;
  assert.deepEqual([outputBytes, final, reported.input, reported.output], [6, true, 1, 4]);
  assert.equal(outputTexts, undefined);
  assertCutAlike(open, bytes, [7, 90, 200]);
});

test('a stream without its end is complete once every choice has come and ended', () => {
  const two: Choices = { count: 2, generatedForEach: 1, echoed: undefined };
  const replayed = (...events: readonly object[]) =>
    replay(completionsConverter(two).stream(STREAM_REQUEST), [stream(...events)]);
  assert.equal(replayed({ choices: [choice(0, 'a')] }).outcome, 'Cut');
  assert.equal(replayed({ choices: [choice(0, 'a')] }, { choices: [choice(1, 'b')] }).outcome, 'Complete');
  const { meter } = replayed({ choices: [choice(0, 'one', null)] }, { choices: [choice(4096, 'two', null)] });
  assert.deepEqual([meter.outputBytes, meter.outputTexts], [6, ['one', 'two']]);
  assert.equal(replayed({ choices: [choice(0, 'a', null)] }, { error: { message: 'broke' } }).outcome, 'Failed');
});

/**
 * Bodies that are JSON, or nearly: plausible calls with fields of any type, and texts that parsers disagree about. The
 * provider is honest and reads every byte as a token, so that whatever is admitted must have been held for. The label
 * is the path.
 */
import fc from 'fast-check';
import { KEYS } from '../support/manifests.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { honestAnswer, jsonOf } from './honest.ts';
import { BODIES, PATHS } from './json-bodies.ts';
import { mutate } from './mutate.ts';
import type { ProviderRequest } from './provider.ts';
import type { Random } from './random.ts';
import { leakIn, openScene, withVideos } from './scene.ts';
import type { Scene } from './scene.ts';

export const jsonFuzzer: Fuzzer = { name: 'json', open };

async function open(): Promise<FuzzSession> {
  const scene = await openScene({
    platform: withVideos,
    answer: (request) => honestAnswer(request, { input: inputTokens(request), output: outputTokens(request) }),
  });
  return {
    batch: 32,
    next: nextCase,
    run: (one) => runCase(scene, one),
    check: () => scene.calm(),
    close: () => scene.close(),
  };
}

function nextCase(random: Random): FuzzCase {
  const path = random.pick(PATHS);
  const [value] = fc.sample(BODIES[path], { seed: random.int(2 ** 31), numRuns: 1 });
  const text = JSON.stringify(value) ?? 'null';
  return { label: path, pieces: [twist(Buffer.from(text), random)] };
}

const WORDS = [
  '"model":"gpt-model",',
  '"model":"tools-model",',
  '"Model":"gpt-model",',
  '"mode\\u006c":"tools-model",',
  '"n":8,',
  '"N":8,',
  '"max_tokens":1,',
  '"max_tokens":999999999,',
  '"max_completion_tokens":1e3,',
  '"stream":true,',
  '"__proto__":{"model":"gpt-model","n":100},',
  '"constructor":{"prototype":1},',
  '"stream_options":{"include_usage":true,"include_usage":false},',
  '"messages":[],',
  '1e999',
  '-0',
  '1E400',
  '00',
  '1.',
  '.5',
  '+1',
  '0x1',
  'NaN',
  'Infinity',
  'undefined',
  '18446744073709551616',
  '\\ud83d',
  '\\u0000',
  '\\x',
  '\t',
  '\n',
  '/* */',
  '//\n',
  ',',
  ',,',
  "'",
  '\ufeff',
  '\u00a0',
  '\0',
  '[[[[[[[[[[',
  '{"a":'.repeat(600),
  '['.repeat(600),
  ']'.repeat(600),
  '[],'.repeat(2000),
  '"x",'.repeat(5000),
];

/** The text itself is touched in one of three cases. */
function twist(text: Buffer, random: Random): Buffer {
  const kind = random.int(30);
  if (kind === 0) return Buffer.from(`{"model":"gpt-model","messages":${'['.repeat(100_000)}`);
  if (kind === 1)
    return Buffer.from(
      `{"model":"gpt-model","max_tokens":5,"messages":[{"role":"user","content":"x"}],"metadata":[${'0,'.repeat(300_000)}0]}`,
    );
  if (kind === 2)
    return Buffer.from(
      `{"model":"gpt-model","max_tokens":5,"messages":[${'{"role":"user","content":"x"},'.repeat(20_000)}{"role":"user","content":"x"}]}`,
    );
  if (kind === 3) return Buffer.concat([text.subarray(0, 1), Buffer.from(random.pick(WORDS)), text.subarray(1)]);
  if (kind === 4) return Buffer.concat([text, text]);
  return kind < 10 ? mutate(text, random, WORDS) : text;
}

// a provider that reads every byte as a token
// -----------------------------------------------------------------------------------

const CONTEXT_TOKENS: Readonly<Record<string, number>> = { 'embed-model': 8192 };
const IMAGE_TOKENS = 4096;

function inputTokens(request: ProviderRequest): number {
  const body = jsonOf(request);
  const most = CONTEXT_TOKENS[String(body['model'])] ?? 100_000;
  return Math.min(
    most,
    ['messages', 'system', 'tools', 'functions', 'input', 'prompt', 'response_format', 'instructions', 'text'].reduce(
      (sum, field) => sum + tokensOf(body[field], field === 'system'),
      0,
    ),
  );
}

/** Counts a value's tokens as a provider would. Within `content`, parts may be images; elsewhere fields are text. */
function tokensOf(value: unknown, content = false): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + tokensOf(item, content), 0);
  const { type } = value as { type?: unknown };
  if (content && (type === 'image' || type === 'image_url' || type === 'input_image')) return IMAGE_TOKENS;
  return Object.entries(value).reduce(
    (sum, [name, item]) =>
      name === 'type' || name === 'role' ? sum : sum + tokensOf(item, name === 'content' || name === 'output'),
    0,
  );
}

/** As many output tokens as the request allows. */
function outputTokens(request: ProviderRequest): number {
  const { n, max_tokens: limit, max_completion_tokens: newer, prediction } = jsonOf(request);
  if (request.path.endsWith('/responses')) return Number(jsonOf(request)['max_output_tokens']);
  if (request.path.endsWith('/messages')) return Number(limit); // a protocol of one answer, without predictions
  const each = [newer, limit].find((field) => typeof field === 'number') ?? 0;
  return (
    (typeof n === 'number' ? n : 1) * each + tokensOf((prediction as { content?: unknown } | null | undefined)?.content)
  );
}

// what may come back
// --------------------------------------------------------------------------------------------------------------

const ANSWER_MS = 20_000;

async function runCase(scene: Scene, { label: path, pieces }: FuzzCase): Promise<void> {
  const response = await fetch(scene.gateway.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${KEYS.main}`,
      connection: 'close',
    },
    body: Buffer.concat([...pieces]),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await response.text();
  const { status } = response;
  if (status >= 500 || status < 200 || (status >= 300 && status < 400))
    throw new Error(`${status} ${text.slice(0, 500)}`);
  if (text.includes('internal_error')) throw new Error(`a defect was answered: ${text.slice(0, 300)}`);
  if (leakIn(Buffer.from(text), scene.provider) !== undefined) throw new Error('the answer shows the provider');
  if (status >= 400) checkError(text, path);
  const money = scene.money.get(response.headers.get('x-request-id') ?? '');
  if (status < 300 && !path.endsWith('count_tokens') && money === undefined)
    throw new Error('an answer without a hold');
  if (money?.settled === undefined) return;
  const { costNanoUsd, tokens } = money.settled.record;
  if (costNanoUsd > money.heldNanoUsd)
    throw new Error(`held ${money.heldNanoUsd}, and cost ${costNanoUsd} (${JSON.stringify(tokens)})`);
}

function checkError(text: string, path: string): void {
  const { type, error } = JSON.parse(text) as { type?: unknown; error?: { message?: unknown; type?: unknown } };
  if (typeof error?.message !== 'string' || typeof error.type !== 'string')
    throw new Error(`no error: ${text.slice(0, 300)}`);
  if ((type === 'error') !== path.startsWith('/v1/messages'))
    throw new Error(`the wrong dialect: ${text.slice(0, 300)}`);
}

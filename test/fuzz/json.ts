/**
 * Bodies that are JSON, or nearly: plausible calls with fields of any type, bodies with a second reading, and texts that
 * parsers disagree about. The provider reads every byte as a token and whatever a generous reader finds, so that
 * whatever is admitted must have been held for; an honest one is never found implausible. The label is the path, and
 * the seed of what a provider that lies reports in its place.
 */
import fc from 'fast-check';
import { itemsOf } from '../../dataplane/protocol/fields.ts';
import { KEYS } from '../support/manifests.ts';
import { Cases } from './cases.ts';
import { confuse, SIMPLE_BODIES } from './confuse.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { fold, mediaOf, orderOf, providerTools } from './greedy.ts';
import { honestAnswer, jsonOf } from './honest.ts';
import type { Figures } from './honest.ts';
import { BODIES, PATHS } from './json-bodies.ts';
import { mutate } from './mutate.ts';
import { dueOf } from './orders.ts';
import { patience } from './patience.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';
import { leakIn, openScene, withVideos } from './scene.ts';
import type { CallMoney, Scene } from './scene.ts';

export const jsonFuzzer: Fuzzer = { name: 'json', open };

/** What the provider did with a case. */
interface Served {
  /** What a provider that lies reports; undefined: the provider is honest. */
  readonly lie: Figures | undefined;
  /** What the images or seconds cost that a generous reader finds in the request. */
  dueNanoUsd: bigint;
  fault: string | undefined;
}

async function open(): Promise<FuzzSession> {
  const cases = new Cases<Served>();
  const scene = await openScene({ platform: withVideos, answer: (request) => serve(request, cases) });
  return {
    batch: 32,
    next: nextCase,
    async run(one) {
      const [, lie] = one.label.split(' ');
      const served: Served = {
        lie: lie === undefined ? undefined : lieOf(Number(lie)),
        dueNanoUsd: 0n,
        fault: undefined,
      };
      await cases.run(served, (headers) => runCase(scene, one, { headers, served }));
    },
    async check() {
      await scene.calm();
      cases.check();
    },
    close: () => scene.close(),
  };
}

function serve(request: ProviderRequest, cases: Cases<Served>): ProviderAnswer {
  const fields = jsonOf(request);
  const order = orderOf(fields);
  const honest = {
    input: inputTokens(request),
    output: outputTokens(request),
    seconds: order.seconds === 0 ? undefined : String(order.seconds),
    sealed: sealedFor(fields),
  };
  const served = cases.of(request);
  if (!served) return honestAnswer(request, honest);
  served.dueNanoUsd = dueOf(order);
  const tools = fields['model'] === 'tools-model' || !runsTools(request) ? [] : providerTools(fields);
  if (tools.length > 0) served.fault = `the provider was given the tools ${tools.join()}`;
  if (fields['model'] === 'text-model' && hasImage(fields)) served.fault = 'a model of texts was given an image';
  return honestAnswer(request, served.lie ?? honest);
}

/** An endpoint of images, videos or embeddings has no tools, whatever a request says. */
function runsTools({ path }: ProviderRequest): boolean {
  return /\/(?:chat\/completions|messages|responses)(?:[/?]|$)/.test(path);
}

const LIES = [0, 1, 20, 5000, 8000, 1e6, 2 ** 31, 2 ** 53, 1e300, -1, 0.5];

function lieOf(seed: number): Figures {
  const random = randomFrom(seed);
  const figure = (): number => random.pick(LIES);
  return {
    input: figure(),
    output: figure(),
    images: random.int(40),
    seconds: random.chance(0.5) ? String(figure()) : figure(),
    size: random.pick(['4096x4096', '1024x1024', '', 5, null]),
  };
}

/** Some responses are full of encrypted reasoning. */
function sealedFor(fields: Record<string, unknown>): number {
  return fields['metadata'] === undefined || fields['store'] === true ? 0 : 3_000;
}

/** In the messages of a request; beside them no provider looks for images. */
function hasImage({ messages, input }: Record<string, unknown>): boolean {
  return [messages, input].some(isOrHasImage);
}

function isOrHasImage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(isOrHasImage);
  return mediaOf(value) === 'image' || isOrHasImage((value as { content?: unknown }).content);
}

function nextCase(random: Random): FuzzCase {
  const lie = random.chance(0.2) ? ` ${random.int(2 ** 31)}` : '';
  if (random.chance(0.05)) {
    const [path, body] = random.pick(SIMPLE_BODIES);
    return { label: path + lie, pieces: [hide(body, random)] };
  }
  if (random.chance(0.5)) {
    const [path, body] = random.pick(SIMPLE_BODIES);
    const confused = random.chance(0.3) ? confuse(confuse(body, random), random) : confuse(body, random);
    return { label: path + lie, pieces: [Buffer.from(JSON.stringify(confused))] };
  }
  const path = random.pick(PATHS);
  const [value] = fc.sample(BODIES[path], { seed: random.int(2 ** 31), numRuns: 1 });
  return { label: path + lie, pieces: [twist(Buffer.from(JSON.stringify(value) ?? 'null'), random)] };
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
  const kind = random.int(32);
  if (kind === 30) return manySealed('"model":"gpt-model","input"', { type: 'reasoning', id: 'rs_1', summary: [] });
  if (kind === 31) return manySealed('"model":"claude-model","max_tokens":5,"messages"', { role: 'assistant' });
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

const HIDDEN: readonly (readonly [name: string, value: string])[] = [
  ['model', '"tools-model"'],
  ['n', '8'],
  ['max_tokens', '999'],
  ['max_output_tokens', '999'],
  ['size', '"4096x4096"'],
  ['seconds', '"12"'],
];

/** A field hidden behind an escaped name, or what an engine may take that name for afterwards: see parse-json.ts. */
function hide(body: object, random: Random): Buffer {
  const [name, value] = random.pick(HIDDEN);
  const [start, last] = [name.slice(0, -1), name.slice(-1)];
  const written = random.chance(0.5) ? `${start}\\\\` : `${start}\\u00${last.charCodeAt(0).toString(16)}`;
  const own = JSON.stringify(body).slice(1, -1);
  return Buffer.from(`{"${name}-${random.int(2)}":1,${own},"${written}":${value}}`);
}

/** A list of many items, each with values that another gateway, or this one, may have sealed. */
function manySealed(head: string, item: object): Buffer {
  const sealed = `mgw1_r_${'A'.repeat(120)}`;
  const content = [
    { type: 'redacted_thinking', data: sealed },
    { type: 'thinking', thinking: 'x', signature: sealed },
  ];
  const text = JSON.stringify('role' in item ? { ...item, content } : { ...item, encrypted_content: sealed });
  return Buffer.from(`{${head}:[${`${text},`.repeat(3_000)}{"role":"user","content":"x"}]}`);
}

// a provider that reads every byte as a token
// -----------------------------------------------------------------------------------

const CONTEXT_TOKENS: Readonly<Record<string, number>> = { 'embed-model': 8192 };
const IMAGE_TOKENS = 4096;

function inputTokens(request: ProviderRequest): number {
  const body = jsonOf(request);
  const most = CONTEXT_TOKENS[String(body['model'])] ?? 100_000;
  if (Array.isArray(body['documents'])) return Math.min(most, rankedTokens(body));
  return Math.min(
    most,
    ['messages', 'system', 'tools', 'functions', 'input', 'prompt', 'response_format', 'instructions', 'text'].reduce(
      (sum, field) => sum + tokensOf(body[field], field === 'system'),
      0,
    ),
  );
}

/** The query is read with each document. */
function rankedTokens({ query, documents }: Record<string, unknown>): number {
  return itemsOf(documents).reduce<number>((sum, document) => sum + tokensOf(query) + tokensOf(document), 0);
}

/** Counts a value's tokens as a provider would. Within `content`, parts may be images; elsewhere fields are text. */
function tokensOf(value: unknown, content = false): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + tokensOf(item, content), 0);
  const media = content ? mediaOf(value) : undefined;
  if (media !== undefined) return media === 'image' ? IMAGE_TOKENS : Number.POSITIVE_INFINITY;
  return Object.entries(value).reduce(
    (sum, [name, item]) =>
      name === 'type' || name === 'role' ? sum : sum + tokensOf(item, ['content', 'output'].includes(fold(name))),
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

async function runCase(
  scene: Scene,
  { label, pieces }: FuzzCase,
  { headers, served }: { readonly headers: Readonly<Record<string, string>>; readonly served: Served },
): Promise<void> {
  const [path = ''] = label.split(' ');
  const response = await fetch(scene.gateway.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${KEYS.main}`,
      ...headers,
      connection: 'close',
    },
    body: Buffer.concat([...pieces]),
    signal: patience(ANSWER_MS),
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
  if (served.fault !== undefined) throw new Error(served.fault);
  if (money) checkBill(money, served);
}

function checkBill({ heldNanoUsd, settled }: CallMoney, { lie, dueNanoUsd }: Served): void {
  if (dueNanoUsd > heldNanoUsd) throw new Error(`held ${heldNanoUsd}, and the provider would make ${dueNanoUsd} of it`);
  if (!settled) return;
  const { costNanoUsd, tokens, usageSource } = settled.record;
  if (lie === undefined && costNanoUsd > heldNanoUsd)
    throw new Error(`held ${heldNanoUsd}, and cost ${costNanoUsd} (${JSON.stringify(tokens)})`);
  if (lie === undefined && usageSource === 'Implausible')
    throw new Error(`an honest provider is implausible (${JSON.stringify(tokens)})`);
}

function checkError(text: string, path: string): void {
  const { type, error } = JSON.parse(text) as {
    type?: unknown;
    error?: { message?: unknown; type?: unknown; status?: unknown };
  };
  // Google's have a status
  const kind = path.startsWith('/v1beta/') ? error?.status : error?.type;
  if (typeof error?.message !== 'string' || typeof kind !== 'string')
    throw new Error(`no error: ${text.slice(0, 300)}`);
  if ((type === 'error') !== path.startsWith('/v1/messages'))
    throw new Error(`the wrong dialect: ${text.slice(0, 300)}`);
}

/**
 * The provider's side: answers and streams that are right but for a few bytes, and providers that lie about lengths,
 * encodings and usage, drip, stall, flood, or stop in the middle. The label tells what is called and how the provider
 * ends; the pieces are what it sends.
 */
import { MAX_BUFFERED_BYTES } from '../../dataplane/pipeline/open-response.ts';
import { KEYS } from '../support/manifests.ts';
import type { Reply } from '../support/mock-provider.ts';
import { BOMBS } from './bombs.ts';
import { Cases } from './cases.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { answerBytes, chunk, honestAnswer, honestReply } from './honest.ts';
import { mutate, pieces } from './mutate.ts';
import { patience } from './patience.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';
import type { Random } from './random.ts';
import { PROMPT_MARK, leakIn, openScene } from './scene.ts';
import type { Scene } from './scene.ts';

export const upstreamFuzzer: Fuzzer = { name: 'upstream', open };

const TIMEOUTS = '\n    timeouts: {connectSeconds: 1, firstByteSeconds: 1, wholeSeconds: 2, idleSeconds: 1}';

async function open(): Promise<FuzzSession> {
  const cases = new Cases<ProviderAnswer>();
  const scene = await openScene({
    platform: (yaml) => yaml.replaceAll('\n  - name: direct', `\n  - name: direct${TIMEOUTS}`),
    answer: (request) => cases.of(request) ?? honestAnswer(request),
  });
  return {
    batch: 64,
    next: nextCase,
    async run({ label, pieces }) {
      const call = parseLabel(label);
      const answer: ProviderAnswer = { pieces, end: call.end, dripMs: call.dripMs };
      await cases.run(answer, (headers) => runCase(scene, headers, call));
    },
    async check() {
      await scene.calm();
      cases.check();
    },
    close: () => scene.close(),
  };
}

// what the provider sends
// ---------------------------------------------------------------------------------------------------

type Client = 'openai' | 'anthropic';

interface Call {
  readonly client: Client;
  readonly upstream: Client;
  readonly stream: boolean;
  readonly end: ProviderAnswer['end'];
  readonly dripMs: number;
}

function labelOf({ client, upstream, stream, end, dripMs }: Call): string {
  return [client, upstream, stream ? 'stream' : 'whole', end, dripMs].join(' ');
}

function parseLabel(label: string): Call {
  const [client, upstream, kind, end, drip] = label.split(' ');
  return {
    client: client as Client,
    upstream: upstream as Client,
    stream: kind === 'stream',
    end: end as Call['end'],
    dripMs: Number(drip),
  };
}

function nextCase(random: Random): FuzzCase {
  const call: Call = {
    client: random.pick(['openai', 'anthropic']),
    upstream: random.pick(['openai', 'anthropic']),
    stream: random.chance(0.6),
    end: random.chance(0.01) ? 'stall' : random.pick(['keep', 'fin', 'fin', 'reset']),
    dripMs: random.chance(0.05) ? 3 : 0,
  };
  const bytes = answerOf(call, random);
  return { label: labelOf(call), pieces: bytes.length > 200_000 ? [bytes] : pieces(bytes, random) };
}

function answerOf(call: Call, random: Random): Buffer {
  const reply = mutateBody(
    honestReply(
      requestOf(call),
      random.chance(0.2) ? { input: random.pick(FIGURES), output: random.pick(FIGURES) } : undefined,
    ),
    random,
  );
  if (random.chance(0.04)) return flood(reply, random);
  const bytes = answerBytes(reply, {
    ...(random.chance(0.25) ? { status: random.pick(STATUSES) } : {}),
    headers: Array.from({ length: random.chance(0.5) ? random.int(3) : 0 }, () => random.pick(HEADERS)),
    gzip: random.chance(0.08),
    ...(random.chance(0.3) ? { chunked: random.chance(0.5) } : {}),
  });
  if (random.chance(0.3)) return mutate(bytes, random, DICTIONARY);
  return random.chance(0.15) ? bytes.subarray(0, random.int(bytes.length)) : bytes;
}

/** The request that a correct provider would receive for such a call. */
function requestOf({ upstream, stream }: Call): ProviderRequest {
  return {
    method: 'POST',
    path: upstream === 'openai' ? '/v1/chat/completions' : '/v1/messages',
    headers: [],
    body: Buffer.from(JSON.stringify({ stream })),
  };
}

function mutateBody(reply: Reply, random: Random): Reply {
  if (random.chance(0.4)) return reply;
  const whole = Buffer.concat(
    reply.steps.map((step) => Buffer.from(typeof step === 'string' ? step : (step as { bytes: string }).bytes)),
  );
  return { ...reply, steps: pieces(mutate(whole, random, DICTIONARY), random) };
}

/** Repeats a part of the reply excessively. */
function flood(reply: Reply, random: Random): Buffer {
  const right = answerBytes(reply);
  const stream = Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
  );
  const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  switch (random.int(8)) {
    case 0:
      return Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(2000)), right]);
    case 1:
      return Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'.repeat(2000)), right]);
    case 2:
      return Buffer.from(`HTTP/1.1 200 OK\r\n${'x-more: and more\r\n'.repeat(20_000)}`);
    case 3:
      return Buffer.concat([stream, chunk(Buffer.from(`data: "${'x'.repeat(17 * 2 ** 20)}`))]);
    case 4:
      return Buffer.concat([stream, ...Array.from({ length: 3000 }, () => chunk(Buffer.from(': nothing yet\n\n')))]);
    case 5:
      return Buffer.concat([
        Buffer.from(`${json}content-length: ${12 * 2 ** 20}\r\n\r\n{"x":"`),
        Buffer.alloc(12 * 2 ** 20 - 6, 'y'),
      ]);
    case 6:
      return Buffer.from(`${json}transfer-encoding: chunked\r\n\r\n${'1\r\n[\r\n'.repeat(20_000)}0\r\n\r\n`);
    default:
      return bombOf(random.chance(0.5) ? json : 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n', random);
  }
}

/** A response of some dozen bytes or kilobytes that inflates to 60 MiB, or breaks off before. */
function bombOf(head: string, random: Random): Buffer {
  const [coding, bytes] = random.pick([...BOMBS]);
  const sent = random.chance(0.2) ? bytes.subarray(0, random.int(bytes.length)) : bytes;
  return Buffer.concat([
    Buffer.from(`${head}content-encoding: ${coding}\r\ncontent-length: ${bytes.length}\r\n\r\n`),
    sent,
  ]);
}

const FIGURES = [
  0,
  1,
  10,
  20,
  5000,
  1e6,
  2 ** 31,
  2 ** 53,
  1e15,
  1e18,
  1e300,
  -1,
  -1e9,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
];
const STATUSES = [
  '200',
  '200 ',
  '200 \xc3\xa9',
  '201 Created',
  '204 No Content',
  '205 Reset',
  '206 Partial',
  '226 IM',
  '299 X',
  '300 X',
  '301 Moved',
  '304 Not Modified',
  '307 X',
  '400 Bad',
  '401 No',
  '402 Pay',
  '403 No',
  '404 Gone',
  '405 X',
  '407 X',
  '408 Late',
  '409 X',
  '410 X',
  '413 Big',
  '415 X',
  '418 Tea',
  '421 X',
  '422 No',
  '425 X',
  '429 Slow',
  '431 X',
  '451 Law',
  '499 X',
  '500 X',
  '501 X',
  '503 X',
  '504 X',
  '505 X',
  '529 Over',
  '599 X',
  '600 X',
  '999 X',
  '101 Switching Protocols',
  '100 Continue',
  '102 X',
  '000 X',
  '99 X',
  '2000 X',
  '-1 X',
  'OK',
];
const HEADERS = [
  'x-utf8: gr\xc3\xbc\xc3\x9fe \xe2\x82\xac',
  'x-latin: \xe4',
  'x-del: \x7f',
  'content-type: text/event-stream',
  'content-type: application/json',
  'content-type: text/html',
  'content-type: \xff',
  'content-encoding: gzip',
  'content-encoding: br',
  'content-encoding: zstd',
  'content-encoding: deflate',
  'content-encoding: unheard',
  'content-encoding: gzip, gzip',
  'content-length: 3',
  'content-length: 999999',
  'content-length: -1',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'connection: close',
  'connection: x-secret, keep-alive',
  'x-secret: 1',
  'keep-alive: timeout=0',
  'keep-alive: timeout=99999999999',
  'upgrade: h2c',
  'trailer: x',
  '__proto__: x',
  'constructor: x',
  'tostring: x',
  'hasownproperty: 1',
  'set-cookie: a=b',
  'retry-after: 1e309',
  'retry-after: -5',
  'retry-after: Wed, 21 Oct 2099 07:28:00 GMT',
  'retry-after: soon',
  'retry-after-ms: 99999999999',
  'location: http://elsewhere/',
  'x-request-id: theirs',
  'x-modelgateway-cost-usd: 0',
  'request-id: theirs',
  'date: never',
  `x-long: ${'v'.repeat(9000)}`,
  `x-longer: ${'w'.repeat(40_000)}`,
  ' folded: 1',
  'no colon',
  ': no name',
  'spa ce: 1',
  'x-empty:',
];
const DICTIONARY = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '\0',
  '0\r\n\r\n',
  'ffffffff\r\n',
  '-1\r\n',
  'data: [DONE]\n\n',
  'data: {}\n\n',
  'data: null\n\n',
  'data: [1]\n\n',
  'data: {"error":{"message":"no","type":"x","code":5}}\n\n',
  'data: {"error":null}\n\n',
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
  'event: error\ndata: x\n\n',
  ': comment\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'data:',
  'id: 1\n',
  'retry: 0\n',
  '\ufeff',
  '{"usage":{"prompt_tokens":-5}}',
  '"usage":null,',
  '"usage":{"prompt_tokens":1e400,"completion_tokens":"7"},',
  '"usage":{"input_tokens":9007199254740993},',
  '"choices":null,',
  '"choices":[null],',
  '"choices":[{"delta":null}],',
  '"content":null,',
  '"content":[{}],',
  '"type":5,',
  '"__proto__":{"usage":1},',
  '"finish_reason":"tool_calls",',
  '"stop_reason":"tool_use",',
  '"index":-1',
  '"index":1e9',
  '[[[[[[[[[[[[[[[[',
  '\\ud800',
  '\\u0000',
  '\xff\xfe',
  '\xed\xa0\x80',
  'e'.repeat(300),
  '[' + '['.repeat(3000),
  '{"a":'.repeat(3000),
].map((word) => Buffer.from(word, 'latin1'));

// what the client may see
// ---------------------------------------------------------------------------------------------------

const CLIENT_MS = 15_000;

async function runCase(scene: Scene, headers: Readonly<Record<string, string>>, call: Call): Promise<void> {
  const { client, upstream, stream } = call;
  const response = await fetch(scene.gateway.url + (client === 'openai' ? '/v1/chat/completions' : '/v1/messages'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${KEYS.main}`,
      ...headers,
      connection: 'close',
    },
    body: JSON.stringify({
      model: upstream === 'openai' ? 'gpt-model' : 'claude-model',
      max_tokens: 20,
      stream,
      messages: [{ role: 'user', content: PROMPT_MARK }],
    }),
    signal: patience(CLIENT_MS),
  });
  const text = await response.text().catch((error: unknown) => {
    if (error instanceof Error && error.name === 'TimeoutError') throw new Error(`no end after ${CLIENT_MS} ms`);
    return undefined;
  });
  checkStatus(response.status);
  const seen = Buffer.from(JSON.stringify([...response.headers]) + (text ?? ''));
  const leak = leakIn(seen, scene.provider);
  if (leak !== undefined) throw new Error(`the answer shows ${leak}`);
  if (text === undefined) {
    // a large answer that is cut can only be cut; a stream has its error event
    if (isEventStream(response)) throw new Error('a stream was cut without an error event');
    return;
  }
  if (text.includes('internal_error')) throw new Error(`a defect was answered: ${text.slice(0, 300)}`);
  if (response.status >= 400) checkError(text, client);
  else if (isEventStream(response) && stream) checkStream(text, client);
  else if (text.length <= MAX_BUFFERED_BYTES) checkWhole(text, client); // a larger one passes unread
}

const OWN_FAILURES = new Set([502, 503, 529]);

function checkStatus(status: number): void {
  if (status < 200 || (status >= 300 && status < 400) || (status >= 500 && !OWN_FAILURES.has(status)))
    throw new Error(`the client got ${status}`);
}

function checkError(text: string, client: Client): void {
  const { type, error } = parse(text) as { type?: unknown; error?: { message?: unknown; type?: unknown } };
  if (
    typeof error?.message !== 'string' ||
    typeof error.type !== 'string' ||
    (type === 'error') !== (client === 'anthropic')
  )
    throw new Error(`an error in no dialect of the client: ${text.slice(0, 300)}`);
}

function checkWhole(text: string, client: Client): void {
  const answer = parse(text) as { choices?: unknown; content?: unknown };
  if (!Array.isArray(client === 'openai' ? answer.choices : answer.content))
    throw new Error(`no answer of the client's dialect: ${text.slice(0, 300)}`);
}

function checkStream(text: string, client: Client): void {
  const events = text
    .replaceAll(/\r\n?/g, '\n')
    .split('\n\n')
    .filter((event) => event.trim() !== '');
  const last = events.at(-1) ?? '';
  const ended =
    client === 'openai'
      ? /data: ?\[DONE\]/.test(last) || last.includes('"error"')
      : last.includes('message_stop') || last.includes('"error"');
  if (!ended) throw new Error(`a stream without an end: ${JSON.stringify(text.slice(-300))}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the client got no JSON: ${JSON.stringify(text.slice(0, 300))}`);
  }
}

/** Media types have no case. */
function isEventStream({ headers }: Response): boolean {
  return (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}

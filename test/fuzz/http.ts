/**
 * The HTTP surface over bare sockets: requests that are odd but right, requests that are almost right, and bytes that
 * are neither, in pieces and pipelined. A label of "right" promises that every request in the bytes is complete.
 */
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { KEYS } from '../support/manifests.ts';
import { readAnswers } from './answers.ts';
import type { HttpAnswer } from './answers.ts';
import { BOMBS, TARGETS } from './bombs.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { honestAnswer, jsonOf } from './honest.ts';
import { mutate, pieces } from './mutate.ts';
import { afterGiven } from './patience.ts';
import type { ProviderRequest } from './provider.ts';
import type { Random } from './random.ts';
import { PROMPT_MARK, leakIn, openScene, withVideos } from './scene.ts';
import type { Scene } from './scene.ts';

export const httpFuzzer: Fuzzer = { name: 'http', open };

async function open(): Promise<FuzzSession> {
  const faults: string[] = [];
  const scene = await openScene({
    platform: withVideos,
    answer: (request) => {
      const fault = faultOf(request);
      if (fault !== undefined) faults.push(fault);
      return honestAnswer(request);
    },
  });
  let sentBefore = 0;
  return {
    batch: 48,
    next: nextCase,
    run: (one) => runCase(scene, one),
    async check() {
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
      const admitted = scene.money.size;
      const counted = scene
        .calls()
        .filter(({ attempts = [], endpoint }) => attempts.length > 0 && !FREE_ENDPOINTS.has(endpoint ?? '')).length;
      await scene.calm();
      if (faults.length > 0) throw new Error(`the provider was sent: ${faults.splice(0).join(' | ').slice(0, 1000)}`);
      const sent = scene.provider.count - sentBefore;
      sentBefore = scene.provider.count;
      if (counted > admitted) throw new Error(`${counted} calls were attempted, and ${admitted} admitted`);
      if (sent > admitted + COUNTED)
        throw new Error(`the provider got ${sent} requests, and ${admitted} calls were admitted`);
    },
    close: () => scene.close(),
  };
}

/** What reaches a provider without a hold. */
const FREE_ENDPOINTS: ReadonlySet<string> = new Set(['count_tokens', 'videos', 'conversations']);
/** The most requests of a batch that count tokens, which reaches the provider without a hold. */
const COUNTED = 48 * 4;

// what is sent
// ------------------------------------------------------------------------------------------------------------

const CHAT = JSON.stringify({ model: 'gpt-model', max_tokens: 20, messages: [{ role: 'user', content: PROMPT_MARK }] });
const CHAT_STREAM = JSON.stringify({
  model: 'gpt-model',
  max_tokens: 20,
  stream: true,
  messages: [{ role: 'user', content: PROMPT_MARK }],
});
const MESSAGE = JSON.stringify({
  model: 'claude-model',
  max_tokens: 20,
  messages: [{ role: 'user', content: PROMPT_MARK }],
});
const MESSAGE_STREAM = JSON.stringify({
  model: 'gpt-model',
  max_tokens: 20,
  stream: true,
  messages: [{ role: 'user', content: PROMPT_MARK }],
});
const PICTURE = { image_url: 'https://example.com/a.png' };
const POSTS: readonly (readonly [string, string])[] = [
  ['/v1/chat/completions', CHAT],
  ['/v1/chat/completions', CHAT_STREAM],
  ['/v1/messages', MESSAGE],
  ['/v1/messages', MESSAGE_STREAM],
  ['/v1/messages/count_tokens', MESSAGE],
  ['/v1/completions', JSON.stringify({ model: 'gpt-model', max_tokens: 20, prompt: PROMPT_MARK })],
  ['/v1/completions', JSON.stringify({ model: 'gpt-model', max_tokens: 20, stream: true, prompt: PROMPT_MARK })],
  ['/v1/embeddings', JSON.stringify({ model: 'embed-model', input: PROMPT_MARK })],
  ['/v1/moderations', JSON.stringify({ model: 'embed-model', input: PROMPT_MARK })],
  ['/v1/rerank', JSON.stringify({ model: 'embed-model', query: PROMPT_MARK, documents: [PROMPT_MARK, 'x'] })],
  ['/v1/images/generations', JSON.stringify({ model: 'image-model', prompt: PROMPT_MARK })],
  ['/v1/images/edits', JSON.stringify({ model: 'sketch-model', prompt: PROMPT_MARK, images: [PICTURE] })],
  ['/v1/videos', JSON.stringify({ model: 'video-model', prompt: PROMPT_MARK })],
  ['/v1/audio/speech', JSON.stringify({ model: 'speech-model', voice: 'alloy', input: PROMPT_MARK })],
  ['/v1/audio/speech', JSON.stringify({ model: 'speech-model', input: PROMPT_MARK, stream_format: 'sse' })],
  ['/v1/responses', JSON.stringify({ model: 'gpt-model', max_output_tokens: 20, input: PROMPT_MARK })],
  ['/v1/responses', JSON.stringify({ model: 'gpt-model', max_output_tokens: 20, stream: true, input: PROMPT_MARK })],
];
const GETS = [
  '/v1/models',
  '/v1/models/gpt-model',
  '/v1/key',
  '/v1/usage/req_1',
  '/pricing',
  '/pricing.json',
  '/pricing/icon.svg',
  '/v1/videos',
  '/v1/videos/video_1',
  '/v1/videos/video_1/content',
  '/v1/videos/%',
  '/v1/responses/resp_1',
  '/v1/responses/..',
  '/v1/responses/%2e%2e/input_items',
  '/v1/responses/%2E%2E%2fvideos',
  '/v1/conversations/..%2fresponses/items',
  '/v1/conversations/%2e',
  '/v1/messages',
  '/nothing',
  '/v1/v1/messages',
  '/',
  '*',
];
const ODD_TARGETS = [
  '/v1/models/%',
  '/v1/models/%zz',
  '/v1/models/%00',
  '/v1/models/%ff%fe',
  '/v1/models/%e2%82',
  '/v1/models/..%2f..%2fkey',
  '/v1/usage/%2e%2e',
  '//v1/models',
  '/v1/../v1/key',
  '/v1/messages/%',
  'http://gateway/v1/models',
  'http://gateway/v1/messages',
  'HTTP://[::1]:80/v1/key',
  'https://gateway',
  'gateway:443',
  '/v1/models?limit=%',
  '/v1/models?limit=1&limit=2',
  '/v1/key#x',
  '/v1/messages#x',
  '/v1/%6dessages',
  '/v1/models/__proto__',
  '/v1/usage/constructor',
  '/pricing?sort=__proto__',
  '/pricing/__proto__',
  '/pricing/../../package.json',
  '/pricing/%2e%2e%2fpricing.js',
  `/${'a'.repeat(3000)}`,
  `/v1/models/${'%41'.repeat(600)}`,
  `/v1/usage/${'b'.repeat(2000)}`,
];
const ODD_HEADERS = [
  'expect: 100-continue',
  'Expect: 200-ok',
  'expect: 100-continue, other',
  'connection: upgrade',
  'connection: close',
  'connection: keep-alive',
  'connection: authorization',
  'upgrade: websocket',
  'upgrade: h2c',
  'http2-settings: AAMAAABkAAQAAP__',
  'x-api-key: sk-other',
  'authorization: Basic eDp5',
  'authorization: Bearer',
  'host: other',
  'content-type: text/plain; charset="',
  'content-type: multipart/form-data; boundary=x',
  'content-type: application/json; charset=utf-16',
  'content-type: ;;;',
  'content-type: \xe9',
  'content-encoding: gzip',
  'content-encoding: identity',
  'accept: application/json',
  'accept: \xff',
  'accept-encoding: gzip',
  'trailer: x-late',
  'te: trailers',
  '__proto__: x',
  'constructor: x',
  'toString: y',
  'x-empty:',
  'x-latin: \xe4\xf6',
  'x-tab: a\tb',
  'anthropic-version: 2023-06-01',
  'anthropic-beta: a,b',
  'if-none-match: *',
  'if-none-match: "x',
  'range: bytes=0-1',
  'origin: http://elsewhere',
  'cookie: a=b',
  'forwarded: for=1',
  'x-http-method-override: DELETE',
  'x-request-id: mine',
  'proxy-authorization: Basic x',
  'keep-alive: timeout=1',
  `x-long: ${'v'.repeat(4000)}`,
];
const METHODS = [
  'GET',
  'POST',
  'HEAD',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
  'PRI',
  'CONNECT',
  'get',
  'FOO',
];
const DICTIONARY = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\r\n ',
  '\r\n\t',
  '\0',
  ':',
  'Content-Length: 0\r\n',
  'Content-Length: 5\r\n',
  'content-length: -1\r\n',
  'content-length: 99999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'transfer-encoding: gzip, chunked\r\n',
  ' HTTP/1.0\r\n',
  ' HTTP/0.9\r\n',
  ' HTTP/2.0\r\n',
  ' HTTP/1.1\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '5;ext="\r\n',
  '-1\r\n',
  'Host:\r\n',
  'Host: a\r\nHost: b\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  '%00',
  '%',
  '../',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\xff\xfe',
  ` ${'x'.repeat(9000)}`,
  `x-big: ${'y'.repeat(20_000)}\r\n`,
  'x-many: 1\r\n'.repeat(3000),
  'a: b\r\n'.repeat(300),
].map((word) => Buffer.from(word, 'latin1'));
/** Requests hidden in others: no provider may ever see this model. */
const HIDDEN = Buffer.from(
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ` +
    `sk-nobody-000000000000000000000000000000\r\nContent-Type: application/json\r\nContent-Length: ` +
    `47\r\n\r\n{"model":"smuggled","messages":[],"x":"012345"}`,
);

interface Request {
  readonly bytes: Buffer;
  readonly right: boolean;
}

function nextCase(random: Random): FuzzCase {
  const kind = random.int(10);
  if (kind < 4) return asCase(rightRequests(random), random);
  if (kind < 5) return asCase([smuggling(random)], random);
  const [first, ...more] = rightRequests(random);
  const bytes = mutate(first?.bytes ?? Buffer.alloc(0), random, DICTIONARY);
  return asCase([{ bytes, right: false }, ...(random.chance(0.3) ? more : [])], random);
}

function asCase(requests: readonly Request[], random: Random): FuzzCase {
  const whole = Buffer.concat(requests.map(({ bytes }) => bytes));
  const right = requests.every((request) => request.right);
  const leave = random.chance(0.1) ? ' leave' : random.chance(0.1) ? ' half' : '';
  return { label: `${right ? `right ${requests.length}` : 'odd'}${leave}`, pieces: pieces(whole, random) };
}

function rightRequests(random: Random): Request[] {
  return Array.from({ length: random.chance(0.7) ? 1 : 1 + random.int(4) }, () => request(random));
}

/** A body in an encoding, to any method and path: one that the header names, or one that it does not. */
function compressed(random: Random): Request {
  const [method, path] = random.pick(COMPRESSED);
  const body = Buffer.from(random.pick(POSTS)[1]);
  const [encoding, encode] = random.pick(ENCODINGS);
  const bytes = random.chance(0.05) ? (BOMBS.get(encoding) ?? body) : encode(random.chance(0.2) ? encode(body) : body);
  const named = random.chance(0.8)
    ? encoding
    : random.pick(['gzip', 'br', 'zstd', 'deflate', 'gzip, gzip', 'br, zstd', 'x-gzip']);
  const cut = random.chance(0.1) ? bytes.subarray(0, random.int(bytes.length)) : bytes;
  const framed = frame(cut, ['Host: gateway', ...keyHeaders(random), `Content-Encoding: ${named}`], random);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${framed.headers.join('\r\n')}\r\n\r\n`, 'latin1');
  return { bytes: Buffer.concat([head, framed.body]), right: true };
}

/** Counting a response's tokens looks like a response in the log, and has no hold. */
const COMPRESSED = TARGETS.filter(([, path]) => path !== '/v1/responses/input_tokens');
const ENCODINGS: readonly (readonly [name: string, encode: (body: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
];

/** Complete as HTTP, whatever the gateway will say to it. */
function request(random: Random): Request {
  if (random.chance(0.1)) return compressed(random);
  const post = random.chance(0.6);
  const [path, body] = post ? random.pick(POSTS) : [random.pick(GETS), ''];
  const target = random.chance(0.2) ? random.pick(ODD_TARGETS) : path;
  const method = random.chance(0.1) ? random.pick(METHODS) : post ? 'POST' : 'GET';
  const headers = [`Host: gateway`, ...keyHeaders(random)];
  for (let more = random.int(4); more > 0; more--) headers.push(random.pick(ODD_HEADERS));
  if (random.chance(0.03)) headers.push(...Array.from({ length: 500 }, (_, index) => `x-${index}: ${index}`));
  const content = random.chance(0.8) ? body : body.slice(0, random.int(body.length + 1));
  const version = random.chance(0.05) ? 'HTTP/1.0' : 'HTTP/1.1';
  const framed = frame(Buffer.from(content), headers, random);
  // a method or version with rules of its own promises nothing
  const right =
    version === 'HTTP/1.1' &&
    ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].includes(method) &&
    !headers.some((header) => /^(?:connection|upgrade|http2)|^host: other/i.test(header)) &&
    target !== 'gateway:443' &&
    target !== '*';
  return {
    bytes: Buffer.concat([
      Buffer.from(`${method} ${target} ${version}\r\n${framed.headers.join('\r\n')}\r\n\r\n`, 'latin1'),
      framed.body,
    ]),
    right,
  };
}

function keyHeaders(random: Random): string[] {
  const key = random.chance(0.9) ? KEYS.main : random.pick(Object.values(KEYS));
  if (random.chance(0.1)) return [];
  return random.chance(0.5) ? [`Authorization: Bearer ${key}`] : [`x-api-key: ${key}`];
}

function frame(body: Buffer, headers: readonly string[], random: Random): { headers: readonly string[]; body: Buffer } {
  const typed = random.chance(0.9) ? [...headers, 'Content-Type: application/json'] : headers;
  if (random.chance(0.7)) return { headers: [...typed, `Content-Length: ${body.length}`], body };
  const parts = pieces(body, random)
    .filter(({ length }) => length > 0)
    .map((piece) =>
      Buffer.concat([
        Buffer.from(`${piece.length.toString(16)}${random.chance(0.1) ? ';a=b' : ''}\r\n`),
        piece,
        Buffer.from('\r\n'),
      ]),
    );
  return {
    headers: [...typed, 'Transfer-Encoding: chunked'],
    body: Buffer.concat([...parts, Buffer.from(random.chance(0.1) ? '0\r\nx-late: 1\r\n\r\n' : '0\r\n\r\n')]),
  };
}

/** A request with two framings, so that two parsers may disagree on its end. */
function smuggling(random: Random): Request {
  const start =
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ` +
    `${KEYS.main}\r\nContent-Type: application/json\r\n`;
  const body = Buffer.from(CHAT);
  const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  const codings = [
    'Transfer-Encoding: chunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding: xchunked',
    ' Transfer-Encoding: chunked',
    'X: y\nTransfer-Encoding: chunked',
    'Transfer-Encoding:\r\n chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: chunked;x',
    'transfer-encoding: "chunked"',
    'Transfer-Encoding: \x0bchunked',
  ];
  const lengths = [body.length, chunked.length, 0, body.length + HIDDEN.length, 5];
  const head = random.pick([
    `${start}Content-Length: ${random.pick(lengths)}\r\n${random.pick(codings)}\r\n\r\n`,
    `${start}${random.pick(codings)}\r\nContent-Length: ${random.pick(lengths)}\r\n\r\n`,
    `${start}Content-Length: ${random.pick(lengths)}\r\nContent-Length: ${random.pick(lengths)}\r\n\r\n`,
    `${start}Content-Length: ${body.length}, ${random.pick(lengths)}\r\n\r\n`,
    `${start}Content-Length: +${body.length}\r\n\r\n`,
    `${start}Content-Length:${body.length}\n\n`,
    `${start}Content_Length: ${body.length}\r\nContent-Length : 0\r\n\r\n`,
  ]);
  return {
    bytes: Buffer.concat([Buffer.from(head, 'latin1'), random.chance(0.5) ? body : chunked, HIDDEN]),
    right: false,
  };
}

// what may come back
// --------------------------------------------------------------------------------------------------------

const RIGHT_MS = 10_000;
/** The gateway may wait for the rest of an incomplete request; after so long without a byte the client disconnects. */
const QUIET_MS = 60;

async function runCase(scene: Scene, { label, pieces }: FuzzCase): Promise<void> {
  const sent = Buffer.concat([...pieces]);
  const [kind, many, how] = label.split(' ');
  const manner = kind === 'right' ? how : many;
  const received = await exchange(scene.port, pieces, {
    want: kind === 'right' && manner === undefined ? Number(many) : undefined,
    manner,
  });
  if (manner !== undefined) return;
  const leak = leakIn(received.bytes, scene.provider);
  if (leak !== undefined) throw new Error(`an answer shows ${leak}`);
  const heads = sent.toString('latin1').includes('HEAD');
  const read = readAnswers(received.bytes);
  if (heads) return;
  if (read.fault !== undefined) throw new Error(`the answer is not HTTP: ${read.fault}`);
  read.answers.forEach((answer, index) => checkAnswer(answer, index === 0 ? { target: targetOf(sent), sent } : {}));
  if (kind === 'right' && !received.closed && read.answers.length < Number(many))
    throw new Error(`${read.answers.length} of ${many} answers after ${RIGHT_MS} ms`);
  if (kind === 'right' && read.answers.length === 0) throw new Error('closed without an answer');
}

interface Received {
  readonly bytes: Buffer;
  readonly closed: boolean;
}

/**
 * Sends the pieces and takes what comes, until enough answers are there, the server closes, or nothing happens any
 * more.
 */
function exchange(
  port: number,
  toSend: readonly Buffer[],
  { want, manner }: { want: number | undefined; manner: string | undefined },
): Promise<Received> {
  return new Promise((resolve) => {
    const got: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let stopWaiting = (): void => undefined;
    const finish = (closed: boolean): void => {
      stopWaiting();
      socket.destroy();
      resolve({ bytes: Buffer.concat(got), closed });
    };
    const wait = (): void => {
      stopWaiting();
      stopWaiting = afterGiven(want === undefined ? QUIET_MS : RIGHT_MS, () => finish(false));
    };
    socket.on('error', () => undefined);
    socket.once('close', () => finish(true));
    socket.once('end', () => finish(true));
    socket.on('data', (data: Buffer) => {
      got.push(data);
      wait();
      if (want !== undefined && readAnswers(Buffer.concat(got)).answers.filter(({ whole }) => whole).length >= want)
        finish(false);
    });
    wait();
    void (async () => {
      for (const piece of toSend) {
        if (socket.destroyed) return;
        socket.write(piece);
        await new Promise((next) => {
          setImmediate(next);
        });
      }
      if (manner === 'leave') finish(false);
      if (manner === 'half') socket.end();
    })();
  });
}

function targetOf(sent: Buffer): string | undefined {
  return /^(?:\r?\n)*[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(sent.toString('latin1', 0, 6000))?.[1];
}

const GOOGLE_PATH = /^(?:https?:\/\/[^/]+)?\/+v1beta(?:[/?#]|$)/i;
const ANTHROPIC_PATH = /^(?:https?:\/\/[^/]+)?(?:\/+v1){1,2}\/+messages(?:[/?#]|$)/i;

interface Asked {
  /** Undefined: it is not known which request the answer is for. */
  readonly target?: string | undefined;
  readonly sent?: Buffer;
}

function checkAnswer({ status, headers, body, whole }: HttpAnswer, { target, sent }: Asked): void {
  const text = body.toString('utf8');
  if (status === 500 || text.includes('internal_error'))
    throw new Error(`a defect was answered: ${status} ${text.slice(0, 300)}`);
  if (!whole || status < 400) return;
  const error = errorIn(text);
  if (!error) throw new Error(`${status} without an error in it: ${JSON.stringify(text.slice(0, 300))}`);
  if (headers.get('x-request-id') === undefined || headers.get('request-id') === undefined)
    throw new Error(`${status} without a request id`);
  if (target === undefined || error.code === 'bad_request') return;
  const path = target.replace(/%6d/i, 'm');
  const wanted = ANTHROPIC_PATH.test(path) ? 'Anthropic' : GOOGLE_PATH.test(path) ? 'Google' : 'OpenAI';
  // by the header, if the gateway has read it as one
  const isByHeader = wanted === 'OpenAI' && /anthropic-version/i.test(sent?.toString('latin1') ?? '');
  if (error.dialect !== wanted && !(isByHeader && error.dialect === 'Anthropic'))
    throw new Error(`${target} was answered in ${error.dialect}'s dialect: ${text.slice(0, 300)}`);
}

function errorIn(text: string): { dialect: 'OpenAI' | 'Anthropic' | 'Google'; code: unknown } | undefined {
  try {
    const { type, error } = JSON.parse(text) as {
      type?: unknown;
      error?: { message?: unknown; type?: unknown; code?: unknown; status?: unknown };
    };
    if (typeof error?.message !== 'string') return undefined;
    if (typeof error.code === 'number' && typeof error.status === 'string') return { dialect: 'Google', code: '' };
    if (typeof error.type !== 'string') return undefined;
    return { dialect: type === 'error' ? 'Anthropic' : 'OpenAI', code: error.code };
  } catch {
    return undefined;
  }
}

const MODELS = new Set([
  'gpt-model',
  'claude-model',
  'embed-model',
  'image-model',
  'sketch-model',
  'video-model',
  'speech-model',
  'text-model',
  'tools-model',
  'upstream-name-7',
  'old-field-model',
]);
const PATHS = new Set([
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/moderations',
  '/v1/rerank',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/videos',
  '/v1/audio/speech',
  '/v1/responses',
  '/v1/responses/compact',
]);
/** Creates what has no model. */
const MODEL_FREE_PATH = '/v1/conversations';
/** A video of the key itself, or one that the gateway looks at. */
const OWN_VIDEO = /^\/v1\/videos\/video_\d+(?:\/content)?$/;
const NEVER = new Set([
  'connection',
  'cookie',
  'expect',
  'upgrade',
  'te',
  'trailer',
  'proxy-authorization',
  'forwarded',
  'http2-settings',
  'keep-alive',
  'content-encoding',
  'origin',
]);

/** What no provider may be sent. */
function faultOf(request: ProviderRequest): string | undefined {
  const { model } = jsonOf(request);
  const own = OWN_VIDEO.test(request.path) || request.path === MODEL_FREE_PATH;
  if (!own && (typeof model !== 'string' || !MODELS.has(model)))
    return `a request for the model ${JSON.stringify(model)}`;
  if (!own && !PATHS.has(request.path)) return `the path ${request.path}`;
  const named = request.headers.find(
    ([name, value]) => NEVER.has(name) && !(name === 'connection' && value === 'keep-alive'),
  );
  if (named) return `the header ${named.join(': ')}`;
  if (request.headers.some(([, value]) => Object.values(KEYS).some((key) => value.includes(key))))
    return "a client's key";
  const credentials = request.headers.filter(([name]) => name === 'authorization' || name === 'x-api-key');
  return credentials.length === 1 ? undefined : `${credentials.length} credentials`;
}

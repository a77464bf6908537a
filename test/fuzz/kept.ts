/**
 * What providers keep: responses, conversations and videos whose provider gives them odd ids, and the requests about
 * them. The pieces are what the provider answers to the creation, and to what follows; the label says what is created
 * and asked for. Every id must stay one segment of the provider's path, and no encrypted value may reach a client bare.
 */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { KEYS } from '../support/manifests.ts';
import { sseReply } from '../support/provider-answers.ts';
import type { Reply } from '../support/mock-provider.ts';
import { BOMBS } from './bombs.ts';
import { Cases } from './cases.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { answerBytes, honestAnswer, jsonOf } from './honest.ts';
import { mutate, pieces } from './mutate.ts';
import { patience } from './patience.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';
import type { Random } from './random.ts';
import { leakIn, openScene, withVideos } from './scene.ts';
import type { Scene } from './scene.ts';

export const keptFuzzer: Fuzzer = { name: 'kept', open };

interface Served {
  readonly created: Buffer;
  readonly answer: Buffer;
  fault: string | undefined;
}

async function open(): Promise<FuzzSession> {
  const cases = new Cases<Served>();
  const scene = await openScene({ platform: withVideos, answer: (request) => serve(request, cases) });
  return {
    batch: 32,
    next: nextCase,
    async run({ label, pieces: [created = NOTHING, ...answer] }) {
      const served: Served = { created, answer: Buffer.concat(answer), fault: undefined };
      await cases.run(served, (headers) => runCase(scene, label, { headers, served }));
    },
    async check() {
      await scene.calm();
      cases.check();
    },
    close: () => scene.close(),
  };
}

const NOTHING = Buffer.alloc(0);

/** A creation has no id in its path. */
const CREATION = /^\/v1\/(?:responses|conversations|videos)$/;
/** One segment that no server takes for a step, encoded or not, and what the gateway asks for below it. */
const ABOUT =
  /^\/v1\/(?:responses|conversations|videos)\/(?!(?:\.|%2e){1,2}(?:[/?]|$))[^/?#]+(?:\/(?:cancel|input_items|items|content))?(?:\?[^#]*)?$/i;

function serve(request: ProviderRequest, cases: Cases<Served>): ProviderAnswer {
  const served = cases.of(request);
  if (!served) return honestAnswer(request);
  const creates = request.method === 'POST' && CREATION.test(request.path);
  if (!creates && !ABOUT.test(request.path)) served.fault = `the provider was asked for ${request.path}`;
  if (request.method !== 'POST' && request.body.length > 0) served.fault = `a ${request.method} had a body`;
  const bytes = creates ? served.created : served.answer;
  // an odd answer may be shorter than it says
  return { pieces: [bytes], end: creates && jsonOf(request)['stream'] !== true ? 'keep' : 'fin' };
}

// what is sent
// ---------------------------------------------------------------------------------------------------

/** Stands in every encrypted value of a provider. */
const BARE = 'gAAAABbare';

const IDS: readonly unknown[] = [
  '..',
  '.',
  '...',
  '%2e%2e',
  '%2E.',
  '../videos',
  '..\\videos',
  'a/../../b',
  'a/b',
  'a?b=c',
  'a#b',
  'a%2fb',
  'a b',
  'a\tb',
  'a\r\nx: y',
  '\0',
  'é',
  '\ud800',
  '😀',
  '',
  ' ',
  ';',
  ':',
  '@host',
  '//host/x',
  'items',
  '__proto__',
  'constructor',
  'mgw1_r_AAAA',
  'x'.repeat(600),
  'x'.repeat(5_000),
  5,
  null,
  [],
  {},
];
const KINDS = ['response', 'response', 'stream', 'conversation', 'video'] as const;
type Kind = (typeof KINDS)[number];

const ASKS: Readonly<Record<Kind, readonly string[]>> = {
  response: ['GET', 'GET /input_items', 'DELETE', 'POST /cancel', 'GET ?stream=true', 'GET /input_items?limit=..%2f'],
  stream: ['GET', 'GET ?stream=true&starting_after=1', 'DELETE', 'GET /input_items'],
  conversation: [
    'GET',
    'GET /items',
    'DELETE',
    'POST',
    'POST /items',
    'GET /items/..',
    'DELETE /items/%2e%2e',
    'GET /items/%2f',
  ],
  video: ['GET', 'GET /content', 'DELETE'],
};
const BODIES: Readonly<Record<Kind, readonly [path: string, body: Record<string, unknown>]>> = {
  response: ['/v1/responses', { model: 'gpt-model', max_output_tokens: 20, input: 'x', store: true }],
  stream: ['/v1/responses', { model: 'gpt-model', max_output_tokens: 20, input: 'x', store: true, stream: true }],
  conversation: ['/v1/conversations', { model: 'gpt-model' }],
  video: ['/v1/videos', { model: 'film-model', prompt: 'x', seconds: '4' }],
};
const MANY = [0, 1, 3, 200, 2_000];
const WORDS = [
  `"encrypted_content":"${BARE}",`,
  '"id":"..",',
  '"object":"list",',
  '"data":[',
  '\n\n',
  'data: ',
  '\\u0022',
  '\\',
];

function nextCase(random: Random): FuzzCase {
  const kind = random.pick(KINDS);
  const id = random.chance(0.5) ? random.pick(IDS) : `own_${random.int(1000)}`;
  const ask = random.pick(ASKS[kind]);
  const created = {
    ...contentOf(kind, id, random),
    status: 'completed',
    ...(kind === 'conversation' && { id, object: kind }),
  };
  const createdBytes = kind === 'stream' ? answerBytes(streamOf(created)) : jsonAnswer(created, random);
  const followed = random.chance(0.5) ? created : contentOf(random.pick(KINDS), random.pick(IDS), random);
  const odd = random.chance(0.3);
  const plain = ask.includes('stream=true') ? answerBytes(streamOf(followed)) : jsonAnswer(followed, random);
  const answer = odd ? mutate(plain, random, WORDS) : plain;
  return { label: `${kind} ${odd ? 'odd' : 'right'} ${ask}`, pieces: [createdBytes, ...pieces(answer, random)] };
}

function contentOf(kind: Kind, id: unknown, random: Random): Record<string, unknown> {
  const count = random.pick(MANY);
  const items = Array.from({ length: count }, (_, index) => ({
    type: random.chance(0.9) ? 'reasoning' : 'compaction',
    id: `rs_${index}`,
    summary: [],
    encrypted_content: `${BARE}${random.chance(0.5) ? index : 'same'}`,
  }));
  if (kind === 'video') return { id, object: 'video', seconds: '4', size: '1280x720' };
  if (kind === 'conversation')
    return random.chance(0.5) ? { id, object: 'conversation', metadata: {} } : { object: 'list', data: items };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return { id, object: 'response', background: false, previous_response_id: random.pick(IDS), output: items, usage };
}

function streamOf(response: Record<string, unknown>): Reply {
  const { output } = response;
  const events = [
    { type: 'response.created', sequence_number: 0, response: { ...response, output: [], usage: null } },
    ...(Array.isArray(output) ? output.slice(0, 20) : []).map((item: unknown, index) => ({
      type: 'response.output_item.done',
      sequence_number: 1 + index,
      item,
    })),
    { type: 'response.completed', sequence_number: 30, response: { ...response, status: 'completed' } },
  ];
  return sseReply(...events.map((data) => ({ event: data.type, data })));
}

function jsonAnswer(content: Record<string, unknown>, random: Random): Buffer {
  const kind = random.int(30);
  const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  if (kind === 0) {
    const [coding, bomb] = random.pick([...BOMBS]);
    return framed(`${json}content-encoding: ${coding}\r\n`, bomb);
  }
  const text = Buffer.from(JSON.stringify(content));
  if (kind < 4) return framed(`${json}content-encoding: gzip\r\n`, gzipSync(text));
  if (kind < 6) return framed(`${json}content-encoding: br\r\n`, brotliCompressSync(text));
  return framed(json, text);
}

function framed(head: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]);
}

// what may come back
// ---------------------------------------------------------------------------------------------------

const ANSWER_MS = 20_000;
/** A provider that breaks off, or answers nonsense. */
const OWN_FAILURES = new Set([502, 503, 504]);

interface Case {
  readonly headers: Readonly<Record<string, string>>;
  readonly served: Served;
}

async function runCase(scene: Scene, label: string, { headers, served }: Case): Promise<void> {
  const [kind = '', honesty, method = '', below = ''] = label.split(' ');
  const [path, body] = BODIES[kind as Kind];
  const created = await send(scene, { headers, method: 'POST', path, body });
  check(scene, created, { served, right: true });
  const given = idIn(created.text) ?? 'none';
  const asked = `${path}/${encodeURIComponent(given)}${below}`;
  const more = method === 'POST' && kind === 'conversation' ? { items: [] } : undefined;
  const answer = await send(scene, { headers, method, path: asked, body: more });
  check(scene, answer, { served, right: honesty === 'right' && kind !== 'video' });
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown> | undefined;
}

interface Received {
  readonly status: number;
  readonly text: string;
}

async function send({ gateway }: Scene, { headers, method, path, body }: Sent): Promise<Received> {
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      authorization: `Bearer ${KEYS.main}`,
      ...headers,
      connection: 'close',
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: patience(ANSWER_MS),
  });
  return { status: response.status, text: await response.text().catch(() => '') };
}

/** The id that a whole response or the first event of a stream names. */
function idIn(text: string): string | undefined {
  const [, id] = /"id":"([^"]+)"/.exec(text) ?? [];
  return id;
}

function check(
  { provider }: Scene,
  { status, text }: Received,
  { served, right }: { readonly served: Served; readonly right: boolean },
): void {
  if (served.fault !== undefined) throw new Error(served.fault);
  if (status < 200 || (status >= 300 && status < 400) || (status >= 500 && !OWN_FAILURES.has(status)))
    throw new Error(`${status} ${text.slice(0, 500)}`);
  if (text.includes('internal_error')) throw new Error(`a defect was answered: ${text.slice(0, 300)}`);
  if (leakIn(Buffer.from(text), provider) !== undefined) throw new Error('the answer shows the provider');
  if (right && text.includes(BARE)) throw new Error(`a bare encrypted value: ${text.slice(0, 300)}`);
}

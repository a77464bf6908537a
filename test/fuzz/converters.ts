/**
 * The conversions alone, without a gateway around them: requests, answers and streams of both protocols, taken from the
 * goldens and recordings and made odd: values of another kind, parts of another conversation, bytes that were flipped.
 * The label says what is converted: "request OpenAI Anthropic".
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readChatFacts as readAnthropic } from '../../dataplane/protocol/anthropic/facts.ts';
import { RequestFault } from '../../dataplane/protocol/call-facts.ts';
import type { ChatFacts } from '../../dataplane/protocol/call-facts.ts';
import type { ConversionNotes, StreamRequest } from '../../dataplane/protocol/converter.ts';
import { converterFor } from '../../dataplane/protocol/providers.ts';
import { readChatFacts as readOpenAI } from '../../dataplane/protocol/openai/facts.ts';
import { parseBody } from '../../dataplane/protocol/parse-body.ts';
import { recordings, replay, TESTDATA } from '../unit/dataplane/protocol/replay.ts';
import type { Protocol } from '../unit/dataplane/protocol/replay.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { mutate, pieces } from './mutate.ts';
import type { Random } from './random.ts';

export const convertersFuzzer: Fuzzer = { name: 'converters', open };

const DIALECTS: readonly Protocol[] = ['OpenAI', 'Anthropic'];

async function open(): Promise<FuzzSession> {
  return {
    batch: 64,
    next: nextCase,
    run: async ({ label, pieces: bytes }) => runInTime(label, bytes),
    check: async () => undefined,
    close: async () => undefined,
  };
}

// what is converted
// ---------------------------------------------------------------------------------------------------------

type Kind = 'request' | 'answer' | 'stream';

const SEEDS: Readonly<Record<Protocol, Readonly<Record<Kind, readonly Buffer[]>>>> = {
  OpenAI: seedsOf('OpenAI'),
  Anthropic: seedsOf('Anthropic'),
};

function seedsOf(dialect: Protocol): Record<Kind, Buffer[]> {
  const folder = (kind: string): Buffer[] => {
    const path = join(TESTDATA, `${dialect.toLowerCase()}-${kind}s`);
    return readdirSync(path)
      .filter((file) => file.endsWith('.in.json'))
      .map((file) => readFileSync(join(path, file)));
  };
  return {
    request: folder('request'),
    answer: folder('response'),
    stream: recordings()
      .filter(({ upstream }) => upstream === dialect)
      .map(({ bytes }) => bytes),
  };
}

const WORDS = [
  'text',
  'image',
  'image_url',
  'document',
  'file',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'search_result',
  'function',
  'custom',
  'allowed_tools',
  'json_schema',
  'json_object',
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'auto',
  'any',
  'none',
  'required',
  'enabled',
  'adaptive',
  'base64',
  'url',
  'content',
  'stop',
  'error',
  'tool_calls',
  'refusal',
  'data:image/png;base64,AAAA',
  'data:application/pdf;base64,AAAA',
  'data:text/plain;base64,YQ==',
  'https://x/y',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1e21,
  20_000_000,
  1.5,
  '',
  'a',
  '\ud800',
  '\0',
  'é'.repeat(70),
  '{"a":1}',
  '{',
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: 'text', text: 'x' },
  { type: 'function', function: { name: 'f', arguments: '{' } },
  { type: 'tool_use', id: 'a.b', name: 'n'.repeat(200), input: 5 },
  { __proto__: null, constructor: 1 },
  ...WORDS,
];
const FIELDS = [
  'type',
  'role',
  'content',
  'text',
  'tool_calls',
  'function_call',
  'functions',
  'tools',
  'tool_choice',
  'custom',
  'function',
  'name',
  'id',
  'input',
  'arguments',
  'system',
  'thinking',
  'reasoning_effort',
  'reasoning_details',
  'output_config',
  'response_format',
  'source',
  'file',
  'image_url',
  'citations',
  'usage',
  'delta',
  'index',
  'choices',
  'stop_reason',
  'finish_reason',
  'error',
  'message',
  'signature',
  'cache_control',
  'stop',
  'metadata',
  'is_error',
  'tool_call_id',
  'tool_use_id',
  '__proto__',
  'constructor',
];

function nextCase(random: Random): FuzzCase {
  const kind = random.pick<Kind>(['request', 'request', 'answer', 'stream', 'stream']);
  const [client, upstream] = [random.pick(DIALECTS), random.pick(DIALECTS)];
  const seeds = SEEDS[kind === 'request' ? client : upstream][kind];
  const odd =
    kind === 'stream' ? oddStream(random.pick(seeds), seeds, random) : oddJson(random.pick(seeds), seeds, random);
  const bytes = random.chance(0.2) ? mutate(odd, random, WORDS) : odd;
  return { label: `${kind} ${client} ${upstream}`, pieces: pieces(bytes, random) };
}

function oddJson(bytes: Buffer, seeds: readonly Buffer[], random: Random): Buffer {
  const value: unknown = JSON.parse(bytes.toString('utf8'));
  for (let left = 1 + random.int(4); left > 0; left--) change(value, seeds, random);
  return Buffer.from(JSON.stringify(value));
}

/** Chunks or events that are changed, doubled, lost or swapped. */
function oddStream(bytes: Buffer, seeds: readonly Buffer[], random: Random): Buffer {
  const events = bytes.toString('utf8').split(/(?<=\n\r?\n)/);
  for (let left = 1 + random.int(4); left > 0; left--) {
    const at = random.int(events.length);
    const other = random.pick(
      random
        .pick(seeds)
        .toString('utf8')
        .split(/(?<=\n\r?\n)/),
    );
    switch (random.int(5)) {
      case 0:
        events.splice(at, 1);
        break;
      case 1:
        events.splice(at, 0, events[at] ?? '');
        break;
      case 2:
        events.splice(at, 0, other);
        break;
      case 3:
        events.splice(random.int(events.length + 1), 0, ...events.splice(at, 1));
        break;
      default:
        events[at] = (events[at] ?? '').replace(
          /^(data: ?)(\{.*\})(\r?)$/m,
          (_all, head: string, json: string, end: string) => head + oddJsonText(json, random) + end,
        );
    }
  }
  return Buffer.from(events.join(''));
}

function oddJsonText(json: string, random: Random): string {
  try {
    return oddJson(Buffer.from(json), [Buffer.from(json)], random).toString('utf8');
  } catch {
    return json;
  }
}

/** Replaces, removes or repeats one part of the value. */
function change(value: unknown, seeds: readonly Buffer[], random: Random): void {
  const places = placesIn(value);
  if (places.length === 0) return;
  const { parent, key } = random.pick(places);
  const foreign = random.chance(0.3)
    ? random.pick(placesIn(JSON.parse(random.pick(seeds).toString('utf8'))))
    : undefined;
  const other = foreign ? (Reflect.get(foreign.parent, foreign.key) as unknown) : random.pick(VALUES);
  switch (random.int(4)) {
    case 0:
      Reflect.deleteProperty(parent, key);
      break;
    case 1:
      if (Array.isArray(parent)) parent.splice(Number(key), 0, structuredClone(other));
      else
        Object.defineProperty(parent, random.pick(FIELDS), {
          value: structuredClone(other),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      break;
    default:
      Reflect.set(parent, key, structuredClone(other));
  }
}

interface Place {
  readonly parent: object;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.keys(value).flatMap((key) => [{ parent: value, key }, ...placesIn(Reflect.get(value, key))]);
}

// what must come of it
// ------------------------------------------------------------------------------------------------------

const NOTES: ConversionNotes = {
  toolNames: new Map([['f', 'the long name of f']]),
  customTools: new Set(['get_weather']),
};
const REQUEST: StreamRequest = {
  wantsStreamUsage: true,
  model: 'm',
  estimatedInputTokens: 7,
  id: 'r',
  createdSeconds: 1,
  nowSeconds: () => 1,
};

/** Of CPU time. Nearly all cases take a few milliseconds. */
const LIMIT_MS = 5_000;

/** A response is read in a time by its bytes, whatever numbers it has. */
function runInTime(label: string, parts: readonly Buffer[]): void {
  const before = process.threadCpuUsage();
  runCase(label, parts);
  const { user, system } = process.threadCpuUsage(before);
  const ms = (user + system) / 1000;
  if (ms > LIMIT_MS) throw new Error(`the case took ${Math.round(ms)} ms of CPU time`);
}

function runCase(label: string, parts: readonly Buffer[]): void {
  const [kind, client, upstream] = label.split(' ') as [Kind, Protocol, Protocol];
  const bytes = Buffer.concat([...parts]);
  if (kind === 'request') runRequest(client, upstream, bytes);
  else if (kind === 'answer')
    for (const notes of [undefined, NOTES, { legacyFunctions: true }]) runAnswer(client, upstream, { bytes, notes });
  else for (const notes of [undefined, NOTES, { legacyFunctions: true }]) runStream(client, upstream, { parts, notes });
}

function runRequest(client: Protocol, upstream: Protocol, bytes: Buffer): void {
  let facts: ChatFacts;
  let sent: Buffer;
  try {
    const parsed = parseBody(bytes);
    facts = factsOf(client, bytes, parsed);
    sent = Buffer.from(
      converterFor(client, upstream).request(bytes, parsed, {
        upstreamModel: 'claude-sonnet-4-5',
        maxOutputTokens: 5000,
        outputLimitField: 'max_tokens',
      }).body,
    );
  } catch (error) {
    if (error instanceof RequestFault) return;
    throw error;
  }
  const { model, max_tokens: limit, stream = false } = JSON.parse(sent.toString('utf8')) as Record<string, unknown>;
  if (model !== 'claude-sonnet-4-5') throw new Error(`the model that is sent is ${JSON.stringify(model)}`);
  if (limit !== 5000) throw new Error(`the limit that is sent is ${JSON.stringify(limit)}`);
  if (client !== upstream && stream !== facts.stream)
    throw new Error(`stream was ${facts.stream} and is ${JSON.stringify(stream)}`);
  if (client !== upstream) checkFacts(facts, factsOrNone(upstream, sent));
}

function factsOf(dialect: Protocol, bytes: Buffer, parsed: Readonly<Record<string, unknown>>): ChatFacts {
  return (dialect === 'OpenAI' ? readOpenAI : readAnthropic)(bytes, parsed);
}

/** What is sent may still be the provider's to refuse. */
function factsOrNone(dialect: Protocol, bytes: Buffer): ChatFacts | undefined {
  try {
    return factsOf(dialect, bytes, parseBody(bytes));
  } catch (error) {
    if (error instanceof RequestFault) return undefined;
    throw error;
  }
}

/** A conversion makes nothing that was not paid for: money is held for what the client sent. */
function checkFacts(before: ChatFacts, after: ChatFacts | undefined): void {
  if (!after) return;
  if (after.images > before.images) throw new Error(`${before.images} images have become ${after.images}`);
  if (after.images + after.files > before.images + before.files)
    throw new Error(`${before.files} files have become ${after.files}`);
  if (after.oneHourCache && !before.oneHourCache) throw new Error('a cache that lives longer came of it');
  const novel = after.unbounded.find(({ feature }) => !before.unbounded.some((use) => use.feature === feature));
  if (novel) throw new Error(`${novel.feature} came of it, by ${novel.param}`);
}

interface Noted {
  readonly notes: ConversionNotes | undefined;
}

function contextOf({ notes }: Noted): StreamRequest {
  return notes ? { ...REQUEST, notes } : REQUEST;
}

function runAnswer(client: Protocol, upstream: Protocol, { bytes, notes }: Noted & { bytes: Buffer }): void {
  try {
    const { body, meter } = converterFor(client, upstream).response(bytes, contextOf({ notes }));
    checkFigures(meter.reported);
    const answer = JSON.parse(Buffer.from(body).toString('utf8')) as Record<string, unknown>;
    if (!Array.isArray(answer[client === 'OpenAI' ? 'choices' : 'content']))
      throw new Error("no answer of the client's protocol");
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

function runStream(client: Protocol, upstream: Protocol, { parts, notes }: Noted & { parts: readonly Buffer[] }): void {
  const run = (chunks: readonly Buffer[]): ReturnType<typeof replay> =>
    replay(converterFor(client, upstream).stream(contextOf({ notes })), chunks);
  const { sent, last, outcome, meter } = run(parts);
  const whole = run([Buffer.concat([...parts])]);
  if (sent + last !== whole.sent + whole.last || outcome !== whole.outcome)
    throw new Error('the pieces make a difference');
  checkFigures([meter.reported, meter.outputBytes]);
  if (client === upstream || outcome !== 'Complete') return;
  if (client === 'Anthropic') checkBlocks(sent + last);
  else for (const line of (sent + last).split('\n')) if (line.startsWith('data: {')) JSON.parse(line.slice(6));
}

/** Checks each number in a report, in its parts and uses, too. */
function checkFigures(report: unknown): void {
  if (typeof report === 'number' && !(Number.isSafeInteger(report) && report >= 0))
    throw new Error(`the figure ${report}`);
  if (typeof report === 'object' && report !== null) for (const value of Object.values(report)) checkFigures(value);
}

/** Checks the order of content blocks that Anthropic's clients require. */
function checkBlocks(text: string): void {
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as { type: string; index?: number });
  let open: number | undefined;
  let next = 0;
  for (const { type, index } of events) {
    if (type === 'content_block_start' && (open !== undefined || index !== next++))
      throw new Error(`block ${index} opens while ${open} is open, and ${next - 1} is next`);
    if (type === 'content_block_start') open = index;
    else if (type.startsWith('content_block') && index !== open)
      throw new Error(`${type} of ${index} while ${open} is open`);
    if (type === 'content_block_stop') open = undefined;
  }
  const kinds = events.map(({ type }) => type).filter((type) => type !== 'ping');
  if (
    kinds[0] !== 'message_start' ||
    kinds.at(-2) !== 'message_delta' ||
    kinds.at(-1) !== 'message_stop' ||
    open !== undefined
  )
    throw new Error(`the events are ${kinds.join(', ').slice(-200)}`);
}

/**
 * An oracle for CPU time: what one request's body costs the main thread, step by step. `node test/fuzz/cpu-time.ts
 * [--minutes 10] [--seed N]` looks for a body that holds the event loop for longer than it may: 10 ms at 64 KiB, 50 ms
 * at 1 MiB. It measures the CPU time of this thread, so that other programs on the machine do not disturb it.
 */
import { randomInt } from 'node:crypto';
import { RequestBody } from '../../dataplane/pipeline/request-body.ts';
import type { BodyThread } from '../../dataplane/pipeline/request-body.ts';
import { converterOf } from '../../dataplane/protocol/body-kinds.ts';
import type { BodyKind } from '../../dataplane/protocol/body-kinds.ts';
import { RequestFault } from '../../dataplane/protocol/call-facts.ts';
import type { ProviderKind } from '../../dataplane/protocol/provider.ts';
import { numberFlag, readFlags } from '../support/flags.ts';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';

interface Size {
  readonly bytes: number;
  readonly limitMs: number;
  /** Everything in one thread: what the other thread takes for it, which must be linear too. */
  readonly whole?: true;
}

const SIZES: readonly Size[] = [
  { bytes: 64 * 1024, limitMs: 10 },
  { bytes: 256 * 1024, limitMs: 50 },
  { bytes: 1024 * 1024, limitMs: 50 },
  { bytes: 1024 * 1024, limitMs: 1_000, whole: true },
];
const KINDS: readonly BodyKind[] = [
  'OpenAIChat',
  'AnthropicChat',
  'Responses',
  'Completions',
  'Embeddings',
  'Moderations',
  'Rerank',
  'Images',
  'Videos',
];
const PROTOCOLS: readonly ProviderKind[] = ['OpenAI', 'Anthropic'];
/** A first run compiles code, and a collection of garbage may fall into any. */
const RUNS = 4;
const PLAN = { upstreamModel: 'upstream', maxOutputTokens: 100, outputLimitField: 'max_tokens' } as const;

/** Thrown in place of work in the worker thread, which does not count. */
class Elsewhere extends Error {}
const THREAD: BodyThread = { key: 'key', worker: { run: () => Promise.reject(new Elsewhere()) } };

interface Finding {
  readonly step: string;
  readonly ms: number;
}

/** The costliest step of reading and converting a body, by the fastest of some runs. */
async function costliestStep(kind: BodyKind, bytes: Buffer, whole?: boolean): Promise<Finding> {
  const fastest = new Map<string, number>();
  for (let run = 0; run < RUNS; run++)
    for (const { step, ms } of await stepsOf(kind, bytes, whole))
      fastest.set(step, Math.min(ms, fastest.get(step) ?? Infinity));
  const [[step, ms] = ['none', 0]] = [...fastest].sort(([, a], [, b]) => b - a);
  return { step, ms };
}

async function stepsOf(kind: BodyKind, bytes: Buffer, whole = false): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const body = new RequestBody(Buffer.from(bytes), whole ? {} : { thread: THREAD });
  /** False: the request is refused, or goes on in the other thread. */
  const measure = async (step: string, work: () => Promise<unknown>): Promise<boolean> => {
    const before = process.threadCpuUsage();
    const goesOn = await work().then(
      () => true,
      (error: unknown) => {
        if (error instanceof RequestFault || error instanceof Elsewhere) return false;
        throw error;
      },
    );
    const { user, system } = process.threadCpuUsage(before);
    findings.push({ step, ms: (user + system) / 1000 });
    return goesOn;
  };
  if (!(await measure('facts', () => body.facts(kind)))) return findings;
  for (const protocol of PROTOCOLS) {
    const converter = converterOf(kind, protocol, { client: kind === 'Responses' ? 'Responses' : 'OpenAI' });
    if (converter) await measure(`convert to ${protocol}`, () => body.convert(converter, protocol, PLAN));
  }
  if (kind === 'AnthropicChat') await measure('texts', () => body.texts('Anthropic'));
  if (kind === 'Responses') await measure('texts', () => body.texts('Responses'));
  return findings;
}

type Shape = (random: Random, bytes: number) => string;

const NAMES = [
  'content',
  'tool_changes',
  'source',
  'input',
  'messages',
  'tools',
  'image',
  'image_url',
  'data',
  'text',
  'type',
  'x',
  'cache_control',
  'parts',
  'system',
  'tool_calls',
  'metadata',
  'output',
  'thinking',
  'function',
  'prompt',
  'schema',
] as const;
const TYPES = [
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
  'unknown',
  'input_text',
  'message',
  'function',
  'custom',
  'image_url',
  'file',
  'thinking',
  'reasoning',
  'x_image',
  'function_call_output',
  'container_upload',
] as const;

/** Repeats an item up to a size. */
function repeated(item: (index: number) => string, bytes: number): string {
  const items: string[] = [];
  for (let [index, length] = [0, 0]; length < bytes; index++) {
    const next = item(index);
    items.push(next);
    length += next.length + 1;
  }
  return `[${items.join(',')}]`;
}

/** Blocks within blocks, as deep as is allowed, filled up with text or small values. */
function nested(random: Random, bytes: number): string {
  const name = random.pick(NAMES);
  const depth = random.int(480) + 5;
  const inList = random.int(2) === 0;
  const filler =
    random.int(2) === 0
      ? `"f":"${'x'.repeat(Math.floor(bytes / depth / 2))}"`
      : `"f":${repeated(() => '0', Math.floor(bytes / depth / 2))}`;
  const open = `{"type":"${random.pick(TYPES)}",${filler},"${name}":${inList ? '[' : ''}`;
  const close = inList ? ']}' : '}';
  return `[${open.repeat(depth)}0${close.repeat(depth)}]`;
}

const SHAPES: readonly Shape[] = [
  nested,
  (random, bytes) => repeated(() => `{"type":"${random.pick(TYPES)}","${random.pick(NAMES)}":"x"}`, bytes),
  (random, bytes) => repeated((index) => `{"${random.pick(NAMES)}${index}":${index}}`, bytes),
  (random, bytes) => repeated(() => random.pick(['[]', '{}', '0', '""', '1e5', '12345678901234567890', 'null']), bytes),
  (_random, bytes) => `{${repeated((index) => `"k${index}":0`, bytes).slice(1, -1)}}`,
  (random, bytes) =>
    `"${random.pick(['\\"', '\\u00e9', 'é', 'A', '\\\\', ' ', '[[', '{"a":1}'.replaceAll('"', '\\"')]).repeat(Math.floor(bytes / 2))}"`
      .slice(0, bytes - 200)
      .replace(/\\*"?$/, '"'),
  (random, bytes) =>
    repeated(
      () => `{"role":"${random.pick(['user', 'tool', 'assistant', 'system'])}","content":"x","tool_call_id":"a"}`,
      bytes,
    ),
  (_random, bytes) =>
    repeated(
      (index) => (index === 0 ? '{"role":"user","content":"x"}' : '{"role":"tool","tool_call_id":"a","content":"x"}'),
      bytes,
    ),
  (random, bytes) =>
    repeated(
      (index) =>
        `{"role":"assistant","tool_calls":[{"id":"c${index}","type":"function",` +
        `"function":{"name":"${random.pick(['f', 'a b', 'x'.repeat(200)])}","arguments":"{\\"a\\":${index}}"}}]}`,
      bytes,
    ),
  (random, bytes) =>
    repeated(
      (index) => `{"type":"function","function":{"name":"f${index}","parameters":{"${random.pick(NAMES)}":{}}}}`,
      bytes,
    ),
  (_random, bytes) => `{"${'['.repeat(bytes)}\\n":"x"}`,
  (_random, bytes) => '9'.repeat(bytes),
];

/** A body of about this size that an endpoint might take, with hostile content in one of its fields. */
export function hostileBody(random: Random, bytes: number, model = 'm'): Buffer {
  const hostile = random.pick(SHAPES)(random, bytes - 400);
  const role = random.pick(['user', 'assistant', 'tool', 'system']);
  const field = random.pick([
    (): string => `"messages":${hostile}`,
    (): string => `"messages":[{"role":"${role}","tool_call_id":"a","content":${hostile}}]`,
    (): string => `"messages":[{"role":"user","content":[{"type":"${random.pick(TYPES)}","content":${hostile}}]}]`,
    (): string =>
      `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${hostile}}]}]`,
    (): string => `"messages":[{"role":"user","content":"x"}],"tools":${hostile}`,
    (): string => `"messages":[{"role":"user","content":"x"}],"metadata":${hostile}`,
    (): string => `"messages":[{"role":"user","content":"x"}],"system":${hostile}`,
    (): string => `"input":${hostile}`,
    (): string => `"input":[{"role":"user","content":${hostile}}]`,
    (): string => `"prompt":"x","extra":${hostile}`,
    (): string => `"prompt":"x",${hostile.startsWith('{') ? hostile.slice(1, -1) : `"x":${hostile}`}`,
  ])();
  const cut = random.int(20) === 0 ? random.int(100) + 1 : 0;
  const text = `{"model":"${model}","max_tokens":10,${field}}`;
  return Buffer.from(text.slice(0, text.length - cut));
}

/** Until the code under test is compiled, bodies are not judged. */
const WARM_UP = 40;

/** Looks for findings until the time is over; returns how many bodies were tried, and the worst by size. */
async function search(random: Random, untilMs: number): Promise<{ count: number; worst: Finding[] }> {
  const worst: Finding[] = SIZES.map(() => ({ step: 'none', ms: 0 }));
  let count = 0;
  while (performance.now() < untilMs) {
    for (const [index, { bytes, limitMs, whole }] of SIZES.entries()) {
      const kind = random.pick(KINDS);
      const body = hostileBody(random, bytes);
      const finding = await costliestStep(kind, body, whole);
      count++;
      if (count < WARM_UP) continue;
      if (finding.ms > (worst[index]?.ms ?? 0)) worst[index] = { step: `${kind}: ${finding.step}`, ms: finding.ms };
      if (finding.ms > limitMs)
        throw new Error(
          `${kind}: ${finding.step} takes ${finding.ms} ms at ${body.length} bytes: ` + body.toString().slice(0, 300),
        );
    }
  }
  return { count, worst };
}

if (import.meta.main) {
  const HELP = 'node test/fuzz/cpu-time.ts [--minutes 10] [--seed N]';
  const flags = readFlags(HELP, ['minutes', 'seed']);
  const seed = flags.seed === undefined ? randomInt(2 ** 31) : numberFlag(flags.seed, 'seed', HELP);
  const minutes = numberFlag(flags.minutes ?? '10', 'minutes', HELP);
  console.log(`seed ${seed}, ${minutes} minutes`);
  const { count, worst } = await search(randomFrom(seed), performance.now() + minutes * 60_000);
  console.log(`${count} bodies without a finding`);
  for (const [index, { bytes, limitMs, whole }] of SIZES.entries())
    console.log(
      `${bytes} bytes${whole ? ' in the other thread' : ''}: at most ${worst[index]?.ms} ms of ${limitMs} (${worst[index]?.step})`,
    );
}

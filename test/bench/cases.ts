/**
 * What is measured: each case is one kind of call at one number of connections. All requests and answers have about 1
 * KB, or 50 events; nothing in them is made easy for the gateway: no output limit and no stream usage is asked for in
 * OpenAI's dialect, so that it edits the request and takes the usage event out again.
 */

type Shape =
  /** One answer of 1 KB. */
  | 'json'
  /** 50 events, each written separately, as fast as they are read. */
  | 'stream'
  /**
   * 50 events, one every 10 ms on each stream: every event arrives alone. Throughput is given; the CPU per event is
   * what counts.
   */
  | 'paced'
  /**
   * 50 events, five every 10 ms on each stream, in one write: as many reads for everybody, however quick it is. Again
   * the CPU counts.
   */
  | 'burst';

/** Chat completions, messages, and OpenAI's Responses. */
export type Dialect = 'openai' | 'anthropic' | 'responses';

export interface BenchCase {
  /** dialect-shape-connections, or dialect-provider-shape-connections where the two differ: what --only chooses by. */
  readonly name: string;
  readonly dialect: Dialect;
  /**
   * The protocol of the model's provider: the gateway converts where it is not the client's. The floor cannot, and
   * passes on.
   */
  readonly provider: Dialect;
  readonly shape: Shape;
  readonly connections: number;
}

/** A request as every load generator sends it; its key goes into a header of its own. */
export interface CallSpec {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const EVENTS_PER_STREAM = 50;
export const PACE_MS = 10;
export const EVENTS_PER_BURST = 5;

const CONNECTIONS = [1, 16, 64, 256] as const;

/**
 * The whole table. Anthropic's dialect differs little on the way through, so one number of connections stands for it.
 */
export const CASES: readonly BenchCase[] = [
  ...CONNECTIONS.map((connections) => benchCase('openai', 'json', connections)),
  ...CONNECTIONS.map((connections) => benchCase('openai', 'stream', connections)),
  benchCase('openai', 'paced', 64),
  benchCase('openai', 'paced', 256),
  benchCase('openai', 'json', 64, 'anthropic'),
  benchCase('anthropic', 'json', 64),
  benchCase('anthropic', 'json', 64, 'openai'),
  benchCase('anthropic', 'stream', 64),
  ...(['openai', 'anthropic'] as const).flatMap((dialect) =>
    (['openai', 'anthropic'] as const).map((provider) => benchCase(dialect, 'burst', 64, provider)),
  ),
  ...(['responses', 'openai', 'anthropic'] as const).map((provider) => benchCase('responses', 'burst', 64, provider)),
];

/** The cases of --quick. */
export const QUICK_CASES: ReadonlySet<string> = new Set([
  'openai-json-1',
  'openai-json-64',
  'openai-stream-64',
  'openai-paced-64',
]);

export const MODELS: Readonly<Record<Dialect, string>> = {
  openai: 'bench-gpt',
  anthropic: 'bench-claude',
  responses: 'bench-responses',
};
/** By this suffix of a model's name the mock provider paces its stream. */
export const PACED_SUFFIX = '-paced';
export const BURST_SUFFIX = '-burst';
/** Streams that stop within and stay open: for memory, not among the cases. */
export const HELD_SUFFIX = '-held';

const SUFFIXES: Readonly<Record<Shape, string>> = { json: '', stream: '', paced: PACED_SUFFIX, burst: BURST_SUFFIX };

/** All names of a provider's models. */
export function modelNames(provider: Dialect): readonly string[] {
  return ['', PACED_SUFFIX, BURST_SUFFIX, HELD_SUFFIX].map((suffix) => MODELS[provider] + suffix);
}

function benchCase(dialect: Dialect, shape: Shape, connections: number, provider = dialect): BenchCase {
  const name = [dialect, ...(provider === dialect ? [] : [provider]), shape, connections].join('-');
  return { name, dialect, provider, shape, connections };
}

/** Cases whose name contains one of these texts; all where none is given. */
export function chooseCases(cases: readonly BenchCase[], only: readonly string[]): readonly BenchCase[] {
  return only.length === 0 ? cases : cases.filter(({ name }) => only.some((part) => name.includes(part)));
}

/** Cases of one group take turns, round by round: a conversion beside the same calls without one. */
export function groupCases(cases: readonly BenchCase[]): readonly (readonly BenchCase[])[] {
  return [...Map.groupBy(cases, ({ dialect, shape, connections }) => [dialect, shape, connections].join('-')).values()];
}

const QUESTION = 'The quick brown fox jumps over the lazy dog, and the dog does not mind at all. ';
const REQUEST_BYTES = 1024;

/** The request of a case: 1 KB in all. */
export function callOf({ dialect, provider, shape }: Pick<BenchCase, 'dialect' | 'provider' | 'shape'>): CallSpec {
  const model = MODELS[provider] + SUFFIXES[shape];
  const stream = shape === 'json' ? {} : { stream: true };
  const limit = dialect === 'anthropic' ? { max_tokens: 512 } : {};
  const write = (content: string): string => {
    const conversation = [{ role: 'user', content }];
    const asked = dialect === 'responses' ? { input: conversation } : { messages: conversation };
    return JSON.stringify({ model, ...limit, ...stream, ...asked });
  };
  const body = write(QUESTION.repeat(20).slice(0, REQUEST_BYTES - write('').length));
  const headers = { 'content-type': 'application/json' };
  switch (dialect) {
    case 'openai':
      return { path: '/v1/chat/completions', body, headers };
    case 'responses':
      return { path: '/v1/responses', body, headers };
    case 'anthropic':
      return { path: '/v1/messages', body, headers: { ...headers, 'anthropic-version': '2023-06-01' } };
  }
}

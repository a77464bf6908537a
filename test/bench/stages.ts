/**
 * [P] Sums a CPU profile by stage: each sample belongs to the first frame, from the innermost outwards, that matches a
 * rule. Shared frames (sockets, buffers, promises) match no rule, so that their time counts for their callers.
 */

/** What V8 writes: a tree of frames, and which of them ran at each sample. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

/** A span on the monotonic clock, in microseconds. */
export interface TimeWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

interface Rule {
  readonly stage: string;
  /** Matches a frame's "url functionName". */
  readonly matches: RegExp;
}

const IDLE = 'idle';
const OTHER = 'other (runtime, timers, promises)';

/** The first rule that matches counts. */
const RULES: readonly Rule[] = [
  { stage: IDLE, matches: / \(idle\)$/ },
  { stage: 'garbage collection', matches: / \(garbage collector\)$/ },
  { stage: 'native (epoll, libuv, system calls)', matches: / \((?:program|root)\)$/ },
  { stage: 'authenticate', matches: /dataplane\/pipeline\/authenticate/ },
  {
    stage: 'parse body',
    matches: new RegExp(
      'dataplane/(?:protocol/(?:parse-body|json-scan|fields|content-counts' +
        '|(?:openai|anthropic)/(?:facts|content-facts|tool-types))|pipeline/endpoints/)',
    ),
  },
  { stage: 'route', matches: /dataplane\/(?:pipeline\/route|state\/|upstream\/pick)/ },
  {
    stage: 'ledger: journal',
    matches: new RegExp(
      'dataplane/ledger/(?:journal|recent-calls' +
        '|embedded-(?:committer|journal|folding|rows|thread|messages))|internal/(?:worker|per_context/messageport)',
    ),
  },
  {
    stage: 'ledger: books',
    matches: /dataplane\/ledger\/(?:embedded|ledger-core|books|slots|amounts|deadlines|periods|jobs)/,
  },
  { stage: 'lease', matches: /dataplane\/ledger\/lease/ },
  {
    stage: 'admit: bounds and price',
    matches: /dataplane\/(?:pipeline\/(?:admit|bounds|consumption)|ledger\/price|protocol\/estimate)/,
  },
  { stage: 'settle', matches: /dataplane\/pipeline\/settle/ },
  { stage: 'convert, meter', matches: /dataplane\/protocol\// },
  { stage: 'upstream: exchange', matches: /dataplane\/upstream\// },
  { stage: 'upstream: undici', matches: /node_modules\/undici\// },
  { stage: 'metrics', matches: /dataplane\/telemetry\/(?:metrics|call-metrics|series)|node_modules\/prom-client/ },
  {
    stage: 'log',
    matches: /dataplane\/telemetry\/|node_modules\/(?:pino|sonic-boom|thread-stream|safe-stable-stringify)/,
  },
  { stage: 'write the answer', matches: /dataplane\/(?:server\/reply|pipeline\/answer)/ },
  { stage: 'report', matches: /dataplane\/pipeline\/report/ },
  { stage: 'pipeline, relay', matches: /dataplane\/pipeline\// },
  { stage: 'edge', matches: /dataplane\/server\// },
  { stage: 'fastify', matches: /node_modules\/(?:fastify|find-my-way|avvio|secure-json-parse|@fastify)/ },
  { stage: 'node:http', matches: /node:(?:_http|internal\/http)/ },
];

interface StageTime {
  readonly stage: string;
  readonly micros: number;
}

interface FunctionTime {
  /** Name and location. */
  readonly where: string;
  readonly micros: number;
}

export interface Aggregated {
  /** Largest first; idle apart. */
  readonly stages: readonly StageTime[];
  readonly idleMicros: number;
  readonly busyMicros: number;
  /** Functions by self time, largest first. */
  readonly functions: readonly FunctionTime[];
}

/** Sums up the samples within the window. */
export function aggregate(profile: CpuProfile, window: TimeWindow): Aggregated {
  const parents = parentsOf(profile.nodes);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const stageOf = new Map<number, string>();
  const stages = new Map<string, number>();
  const functions = new Map<string, number>();
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    // a delta is the time since the sample before: the time that this one stands for ends with it
    const micros = profile.timeDeltas[index] ?? 0;
    atUs += micros;
    if (atUs < window.fromUs || atUs > window.toUs) continue;
    let stage = stageOf.get(id);
    if (stage === undefined) stageOf.set(id, (stage = findStage(id, nodes, parents)));
    add(stages, stage, micros);
    const node = nodes.get(id);
    if (node && stage !== IDLE) add(functions, placeOf(node), micros);
  }
  const idleMicros = stages.get(IDLE) ?? 0;
  stages.delete(IDLE);
  const sorted = bySize(stages);
  return {
    stages: sorted.map(([stage, micros]) => ({ stage, micros })),
    idleMicros,
    busyMicros: sorted.reduce((sum, [, micros]) => sum + micros, 0),
    functions: bySize(functions).map(([where, micros]) => ({ where, micros })),
  };
}

function findStage(id: number, nodes: ReadonlyMap<number, ProfileNode>, parents: ReadonlyMap<number, number>): string {
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const frame = nodes.get(at)?.callFrame;
    if (!frame) break;
    const text = `${frame.url} ${frame.functionName}`;
    // only samples of the root itself are native
    if (frame.functionName === '(root)' && at !== id) break;
    const rule = RULES.find(({ matches }) => matches.test(text));
    if (rule) return rule.stage;
  }
  return OTHER;
}

function parentsOf(nodes: readonly ProfileNode[]): Map<number, number> {
  return new Map(nodes.flatMap(({ id, children = [] }) => children.map((child): [number, number] => [child, id])));
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = url.replace(/^file:\/\//, '').replace(/^.*\/(node_modules\/|dataplane\/|operator\/|bin\/)/, '$1');
  return file === '' ? functionName || '(anonymous)' : `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function bySize(sums: ReadonlyMap<string, number>): [string, number][] {
  return [...sums].sort(([, a], [, b]) => b - a);
}

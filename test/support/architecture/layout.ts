/**
 * The layout as a table: which part can import which parts and npm packages. A part is a folder or a single file; a
 * file belongs to the longest matching entry. Everything else is forbidden, so a new folder needs a line.
 */

export interface Part {
  /**
   * The parts, folders ("crds") or single files ("dataplane/ledger/ledger.ts") that it can import besides itself. A
   * listed file can be imported although its folder cannot.
   */
  readonly may: readonly string[];
  /** npm packages; node: modules are allowed, except in pure files. */
  readonly packages?: readonly string[];
}

/** The ledger's interface and its types, without the implementation. */
export const LEDGER_CONTRACT = [
  'dataplane/ledger/ledger.ts',
  'dataplane/ledger/load.ts',
  'dataplane/ledger/periods.ts',
  'dataplane/usage/record.ts',
  'dataplane/price',
];

export const LAYOUT: Readonly<Record<string, Part>> = {
  bin: {
    may: ['console', 'crds', 'operator', 'dataplane', 'demo', 'package.json'],
    packages: ['commander', 'pino', 'yaml'],
  },
  demo: { may: [] },

  web: { may: ['dataplane/price'] },

  crds: { may: [], packages: ['ajv', 'js-yaml', '@marcbachmann/cel-js'] },

  'operator/file.ts': {
    may: ['console/access', 'crds', 'operator', 'dataplane/snapshot', ...LEDGER_CONTRACT],
    packages: ['pino'],
  },
  'operator/file-console.ts': {
    may: ['crds', 'console', 'dataplane/activity', 'dataplane/ledger/valkey-reader.ts'],
    packages: ['pino'],
  },
  'operator/cluster.ts': {
    may: ['console', 'operator', 'dataplane/admin', ...LEDGER_CONTRACT],
    packages: ['pino'],
  },
  'operator/cluster': {
    may: [
      'console',
      'crds',
      'operator',
      'dataplane/activity',
      'dataplane/admin',
      'dataplane/snapshot',
      'dataplane/ledger/valkey-reader.ts',
      ...LEDGER_CONTRACT,
    ],
    packages: ['pino'],
  },
  'operator/metrics.ts': { may: [], packages: ['prom-client'] },
  'operator/clock.ts': { may: [] },
  'operator/files': { may: ['crds', 'operator/store'], packages: ['js-yaml', 'yaml'] },
  console: {
    may: [
      'web',
      'crds',
      'operator/store',
      'operator/status',
      'operator/translate',
      'console/access',
      'console/usage',
      'operator/files/generations.ts',
      'operator/files/load-folder.ts',
      'dataplane/activity/activity.ts',
      'dataplane/snapshot',
      'dataplane/usage/csv.ts',
      'dataplane/usage/filter.ts',
      'dataplane/state/catalog-diff.ts',
      'dataplane/state/compile-pricing.ts',
      ...LEDGER_CONTRACT,
    ],
    packages: ['@fastify/csrf-protection', '@fastify/secure-session', 'fastify', 'js-yaml', 'pino'],
  },
  'console/access': {
    may: [
      'crds',
      'operator/clock.ts',
      'operator/files',
      'operator/kube',
      'operator/reconcile',
      'operator/store',
      'operator/status',
      'dataplane/snapshot',
    ],
    packages: ['js-yaml', 'yaml', '@kubernetes/client-node', 'undici', 'pino'],
  },
  'console/usage': {
    may: ['operator/store/mutex.ts', 'dataplane/ledger/valkey-reader.ts', 'dataplane/usage', ...LEDGER_CONTRACT],
  },
  'operator/kube': {
    may: ['crds', 'operator/clock.ts', 'operator/store', 'operator/metrics.ts'],
    packages: ['@kubernetes/client-node', 'undici', 'pino'],
  },
  'operator/store': { may: ['crds'] },
  'operator/status': {
    may: ['crds', 'operator/metrics.ts', 'operator/store', 'dataplane/snapshot', ...LEDGER_CONTRACT],
    packages: ['pino'],
  },
  'operator/translate': { may: ['crds', 'operator/store', 'operator/status', 'dataplane/snapshot'] },
  'operator/xds': {
    may: ['dataplane/snapshot'],
    packages: ['@grpc/grpc-js', '@peculiar/x509', 'pino', 'reflect-metadata'],
  },
  'operator/xds/envoy': { may: [], packages: ['@bufbuild/protobuf'] },
  'operator/webhook': {
    may: ['crds', 'operator/clock.ts', 'operator/kube', 'operator/metrics.ts', 'operator/store'],
    packages: ['pino'],
  },
  'operator/reconcile': {
    may: [
      'crds',
      'operator/clock.ts',
      'operator/files',
      'operator/kube',
      'operator/metrics.ts',
      'operator/store',
      'operator/status',
      'operator/translate',
      'dataplane/snapshot',
      ...LEDGER_CONTRACT,
    ],
    packages: ['pino'],
  },

  'dataplane/errors.ts': { may: [] },
  'dataplane/clock.ts': { may: [] },
  'dataplane/content-coding.ts': { may: [] },
  'dataplane/listen.ts': { may: [] },
  'dataplane/message-socket.ts': { may: [], packages: ['ws'] },
  'dataplane/owner-only.ts': { may: [] },
  'dataplane/foreign-page.ts': { may: [] },
  'dataplane/memory-budget.ts': { may: ['dataplane/errors.ts', 'dataplane/state'] },
  'dataplane/ledger-check.ts': { may: ['dataplane/admin', 'dataplane/clock.ts', 'dataplane/ledger'] },
  'dataplane/turns.ts': { may: [] },
  'dataplane/fair-worker.ts': { may: [] },
  'dataplane/body-worker': {
    may: ['dataplane/errors.ts', 'dataplane/fair-worker.ts', 'dataplane/protocol', 'dataplane/sealing'],
  },
  'dataplane/snapshot': { may: [], packages: ['@bufbuild/protobuf'] },
  'dataplane/protocol': { may: [] },
  'dataplane/sealing': { may: ['dataplane/protocol/sealed-values.ts'] },
  'dataplane/price': { may: ['dataplane/snapshot'] },
  'dataplane/usage': { may: ['dataplane/owner-only.ts', 'dataplane/price', 'dataplane/snapshot'] },
  'dataplane/ledger': {
    may: ['dataplane/clock.ts', 'dataplane/owner-only.ts', 'dataplane/price', 'dataplane/usage'],
    packages: ['@redis/client'],
  },
  'dataplane/activity': {
    may: [
      'dataplane/clock.ts',
      'dataplane/fair-worker.ts',
      'dataplane/owner-only.ts',
      'dataplane/ledger/valkey/connection.ts',
      'dataplane/ledger/valkey/location.ts',
      'dataplane/telemetry/call-report.ts',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/upstream': {
    may: ['dataplane/content-coding.ts', 'dataplane/message-socket.ts', 'dataplane/sealing/account-value.ts'],
    packages: ['undici', 'ws', '@smithy/core', '@smithy/signature-v4'],
  },
  'dataplane/state': {
    may: [
      'web/pricing/price-list.ts',
      'web/pricing/price-rows.ts',
      'web/pricing/model-facts.ts',
      'dataplane/snapshot',
      'dataplane/protocol/call-facts.ts',
      'dataplane/protocol/capabilities.ts',
      'dataplane/protocol/providers.ts',
      'dataplane/upstream/headers.ts',
      'dataplane/upstream/retry.ts',
      'dataplane/sealing/sealing-keys.ts',
      'dataplane/upstream/upstream.ts',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/xds': {
    may: ['dataplane/clock.ts', 'dataplane/snapshot', 'dataplane/state'],
    packages: ['@grpc/grpc-js', '@bufbuild/protobuf', 'pino'],
  },
  'dataplane/telemetry': {
    may: ['dataplane/clock.ts', 'dataplane/snapshot', ...LEDGER_CONTRACT],
    packages: ['pino', 'prom-client'],
  },
  'dataplane/admin': { may: ['dataplane/foreign-page.ts', 'dataplane/listen.ts'] },
  'dataplane/pipeline': {
    may: [
      'dataplane/body-worker',
      'dataplane/clock.ts',
      'dataplane/errors.ts',
      'dataplane/kept',
      'dataplane/memory-budget.ts',
      'dataplane/message-socket.ts',
      'dataplane/snapshot',
      'dataplane/state',
      'dataplane/protocol',
      'dataplane/sealing',
      'dataplane/upstream',
      'dataplane/ledger/lease.ts',
      'dataplane/telemetry/call-report.ts',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/kept': {
    may: [
      'dataplane/clock.ts',
      'dataplane/fair-worker.ts',
      'dataplane/owner-only.ts',
      'dataplane/sealing',
      'dataplane/ledger/valkey/connection.ts',
      'dataplane/ledger/valkey/location.ts',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/jobs': {
    may: [
      'dataplane/body-worker/batch-tasks.ts',
      'dataplane/clock.ts',
      'dataplane/errors.ts',
      'dataplane/memory-budget.ts',
      'dataplane/state',
      'dataplane/protocol',
      'dataplane/upstream',
      'dataplane/pipeline',
      'dataplane/telemetry/call-report.ts',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/stored': {
    may: [
      'dataplane/body-worker/batch-tasks.ts',
      'dataplane/errors.ts',
      'dataplane/jobs',
      'dataplane/memory-budget.ts',
      'dataplane/pipeline',
      'dataplane/protocol',
      'dataplane/state',
      'dataplane/telemetry/call-report.ts',
      'dataplane/upstream',
      ...LEDGER_CONTRACT,
    ],
  },
  'dataplane/tokenizer': { may: ['dataplane/fair-worker.ts'], packages: ['gpt-tokenizer'] },
  'dataplane/server': {
    may: [
      'web',
      'dataplane/body-worker',
      'dataplane/clock.ts',
      'dataplane/content-coding.ts',
      'dataplane/errors.ts',
      'dataplane/memory-budget.ts',
      'dataplane/message-socket.ts',
      'dataplane/listen.ts',
      'dataplane/stored',
      'dataplane/snapshot',
      'dataplane/state',
      'dataplane/protocol',
      'dataplane/pipeline',
      'dataplane/turns.ts',
      'dataplane/telemetry/call-report.ts',
      ...LEDGER_CONTRACT,
    ],
    packages: ['fastify', 'ws'],
  },
  'dataplane/polled-files.ts': { may: [] },
  'dataplane/rotation.ts': { may: ['dataplane/clock.ts', 'dataplane/ledger/ledger.ts'], packages: ['pino'] },
  // of the server only the parts that every HTTP server here needs, none that know calls, money or configuration
  'dataplane/sidecar': {
    may: [
      'dataplane/admin',
      'dataplane/clock.ts',
      'dataplane/polled-files.ts',
      'dataplane/errors.ts',
      'dataplane/foreign-page.ts',
      'dataplane/listen.ts',
      'dataplane/server/expect.ts',
      'dataplane/server/in-flight.ts',
      'dataplane/server/malformed.ts',
      'dataplane/server/open-responses.ts',
      'dataplane/server/reply-error.ts',
      'dataplane/server/request-id.ts',
      'dataplane/upstream/address.ts',
      'dataplane/telemetry',
    ],
    packages: ['undici', 'pino', 'prom-client'],
  },
  'dataplane/tls-files.ts': {
    may: ['dataplane/polled-files.ts', 'dataplane/server/tls-listener.ts'],
    packages: ['pino'],
  },
  'dataplane/main.ts': { may: ['dataplane'], packages: ['pino'] },
  'dataplane/proxy.ts': { may: ['dataplane'], packages: ['pino'] },
};

/** What the places of a room, its folders and files, may import of its folders. */
type Arrows = Readonly<Record<string, readonly string[]>>;

/**
 * Parts with folders of their own, whose arrows are guarded too. A place is relative to the room, and the longest one
 * counts. All may import the files beside the folders; those files may import a folder only by a line here.
 */
export const ROOMS: Readonly<Record<string, Arrows>> = {
  'dataplane/protocol': {
    // a client and a provider meet in conversion.ts only
    conversation: [],
    clients: ['anthropic', 'conversation', 'gemini', 'openai'],
    providers: ['anthropic', 'conversation', 'gemini', 'openai', 'platforms'],
    'conversion.ts': ['clients', 'conversation', 'providers'],

    anthropic: ['conversation', 'platforms'],
    audio: [],
    converse: [],
    gemini: [],
    openai: ['audio'],
    platforms: [],
    realtime: [],

    // a provider names the converters to its protocol
    'anthropic/provider.ts': ['clients', 'providers'],
    'converse/provider.ts': ['clients', 'providers'],
    // forms of images, and the names of OpenAI's endpoints
    'gemini/provider.ts': ['clients', 'openai', 'providers'],
    'openai/provider.ts': ['clients', 'providers'],

    'anthropic-anthropic.ts': ['anthropic', 'platforms'],
    'converter.ts': ['platforms'],
    'embeddings-on-gemini.ts': ['gemini', 'openai', 'providers'],
    'gemini-embeddings-on-openai.ts': ['gemini', 'openai'],
    'openai-openai.ts': ['openai'],

    // what is done for every dialect
    batches: ['anthropic', 'openai'],
    'affinity-facts.ts': ['conversation', 'gemini'],
    'body-kinds.ts': ['anthropic', 'gemini', 'openai'],
    'count-texts.ts': ['anthropic', 'gemini', 'openai'],
    'provider.ts': ['openai', 'platforms'],
    'providers.ts': ['anthropic', 'converse', 'gemini', 'openai'],
    'usage-at-ends.ts': ['anthropic', 'openai'],
    'write-error.ts': ['anthropic', 'gemini', 'openai'],
  },
  'dataplane/protocol/clients': { anthropic: [], gemini: [], 'openai-chat': [], 'openai-images': [], responses: [] },
  'dataplane/protocol/providers': { anthropic: [], converse: [], gemini: [], 'openai-chat': [], responses: [] },
  'dataplane/ledger': {
    embedded: [],
    valkey: [],
    'embedded.ts': ['embedded'],
    'valkey.ts': ['valkey'],
    'valkey-reader.ts': ['valkey'],
  },
};

/** Descriptions of the parts for the table in docs/design/README.md; a part without one has only its name. */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  bin: 'the command line: commands, their flags, and what they run',
  demo: 'the demo provider; knows nothing of the gateway',
  web:
    'HTML that cannot be broken out of, the theme of all pages, the price page: shared by the data plane and the ' +
    'console',
  crds: 'the API: one YAML file per kind, and in `schema/` what is made of them',
  'operator/file.ts': 'the operator for one machine, put together',
  'operator/file-console.ts': 'the console for one machine, put together',
  'operator/cluster.ts': 'the operator for a cluster, put together',
  'operator/cluster': 'its parts: the manager with its lease, certificates, webhook, edge, console',
  console: 'the pages for people: keys, credit, prices, routes',
  'console/access': 'objects and rights of a person, in a cluster and in a folder of manifests',
  'console/usage': 'spending and calls, read from SQL',
  'operator/files': 'a watched folder of manifests',
  'operator/kube': 'speaks to an API server',
  'operator/clock.ts': 'the clock of the control plane',
  'operator/reconcile': 'the reconcile loop; makes keys',
  'operator/status': 'computes conditions and writes statuses',
  'operator/store': 'the frozen view of all objects',
  'operator/translate': 'resources in, snapshot and statuses out',
  'operator/webhook': 'puts sidecars into pods',
  'operator/xds': 'serves the configuration to proxies',
  'operator/xds/envoy': 'listener, routes and endpoints for Envoys before the proxies',
  'dataplane/main.ts': 'the data plane, put together',
  'dataplane/proxy.ts': 'a proxy of a fleet: the data plane with its configuration over xDS',
  'dataplane/snapshot': 'the contract of operator and data plane, its validation, exact decimals',
  'dataplane/protocol': 'the dialects: facts of a request, converters, streams',
  'dataplane/price': 'prices compiled, worst cases, bills',
  'dataplane/usage': 'the record of a call: its columns, filters, CSV, tables and mirror',
  'dataplane/ledger': 'the promises, the embedded ledger and the one on Valkey',
  'dataplane/activity': 'recent and refused calls for the console, best effort, apart from the ledger',
  'dataplane/content-coding.ts': 'the decoders of gzip, deflate, br and zstd',
  'dataplane/errors.ts': 'the one table of what callers are told, in both dialects',
  'dataplane/clock.ts': 'the clock and timers that parts are given',
  'dataplane/state': 'snapshot → lookup maps; the state in force, swapped as a whole; the look-up of limits',
  'dataplane/upstream': 'one call to one channel',
  'dataplane/xds': 'receives the configuration from an operator, and caches it on disk',
  'dataplane/pipeline': 'the order of a call, a file per stage',
  'dataplane/kept': 'responses that the gateway keeps where their provider keeps none, encrypted for each account',
  'dataplane/jobs': 'what providers go on with after a call: polls, and ends',
  'dataplane/stored': 'what providers store and clients request: responses, conversations, videos',
  'dataplane/tokenizer': 'counts tokens, in a thread of its own',
  'dataplane/server': 'HTTP at the edge, a file per route',
  'dataplane/sidecar': 'the proxy beside an app: a key, an address, and bytes both ways',
  'dataplane/telemetry': 'metrics and logs',
  'dataplane/admin': 'the admin port',
  'dataplane/memory-budget.ts': 'the memory that requests may make the process hold, by key and account',
  'dataplane/ledger-check.ts': "the ledger's part of a process's readiness",
  'dataplane/turns.ts': 'turns at something of which few may run at a time',
  'dataplane/fair-worker.ts': 'a worker thread in which keys take turns',
  'dataplane/sealing': 'what clients keep for the gateway between two calls, encrypted',
  'dataplane/body-worker': 'the thread that reads expensive bodies',
};

/** The composition roots, which wire the parts together: only the command line and each other can import them. */
export const WIRING = [
  'bin',
  'operator/file.ts',
  'operator/file-console.ts',
  'operator/cluster.ts',
  'dataplane/main.ts',
  'dataplane/proxy.ts',
  'dataplane/sidecar/main.ts',
] as const;

/** The users of `process`: the command line, and the ledger's thread to exit. */
export const PROCESS_OWNERS = ['bin', 'dataplane/ledger/embedded/faults.ts'] as const;

/** Pure files [P]: no I/O, clock, randomness, timers or process, and only pure imports at run time. */
export const PURE: readonly RegExp[] = [
  /^crds\/schema\/(?!load\.ts$)/,
  /^operator\/translate\//,
  /^operator\/status\/(?!writer)/,
  /^operator\/store\//,
  /^operator\/kube\/(?:backoff|parse-)/,
  /^operator\/reconcile\/(?:last-good|known-spending)/,
  /^operator\/xds\/envoy\//,
  /^console\/(?:(?:views|forms|keys|wallet|charts|usage-page|platform|overview)\/|pages\/(?!sign-in))/,
  /^operator\/xds\/(?:acknowledgements|resource-cache|session|snapshot-changes|subscription)/,
  /^dataplane\/xds\/(?:inventory|kind-inventory|stream)/,
  /^dataplane\/errors\.ts$/,
  /^dataplane\/activity\/(?:activity\.ts|entry-of|channel-monitor)/,
  /^dataplane\/protocol\//,
  /^dataplane\/snapshot\//,
  /^dataplane\/state\/(?:compile|limits)/,
  /^dataplane\/sealing\/sealing-keys/,
  /^dataplane\/ledger\/(?:ledger-core|balances|amounts|periods|load|limit-counters|sliding-minute)/,
  /^dataplane\/price\//,
  /^dataplane\/usage\/(?:record|rows|filter|csv|schema|stream)/,
  /^dataplane\/upstream\/(?:pick|retry)/,
  /^dataplane\/tokenizer\/slices/,
  /^dataplane\/sidecar\/(?:headers|key)/,
  /^operator\/webhook\/(?:inject|review|settings|overrides|json-patch|pod)/,
  /^web\//,
];

/** Imports of pure files from outside of the repository: pure functions only. An empty list allows the whole module. */
export const PURE_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  'node:buffer': [],
  'node:crypto': ['createHash', 'createHmac', 'hash', 'hkdfSync', 'timingSafeEqual'],
  'node:util': ['isDeepStrictEqual'],
  '@bufbuild/protobuf': [],
  '@bufbuild/protobuf/wire': [],
  '@marcbachmann/cel-js': [],
  ajv: [],
  'js-yaml': [],
};

/** `fileLines` is what is still read in one go as Prettier lays it out; oxlint holds test/ and tools/ to it, too. */
export const LIMITS = {
  fileLines: 600,
  statements: 40,
  medianStatements: 15,
  complexity: 10,
  parameters: 4,
} as const;

/** Returns the part that a file belongs to, or undefined. */
export function partOf(path: string): string | undefined {
  return Object.keys(LAYOUT)
    .filter((part) => isWithin(path, part))
    .sort((a, b) => b.length - a.length)[0];
}

/** Whether a path is this file, or in this folder. */
export function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

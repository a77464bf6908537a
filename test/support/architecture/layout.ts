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
  'contract/ledger',
  'contract/price',
  'contract/usage/record.ts',
  'dataplane/ledger/ledger.ts',
  'dataplane/ledger/load.ts',
];

/** What is the same in every part that reads objects: the kinds, and the operator's view of them. */
const OBJECTS = ['contract/objects', 'crds'];

/** The parts that every feature of the console builds its pages from; no feature imports another. */
const CONSOLE_FEATURE = [
  'web',
  'contract',
  'crds',
  'console/access',
  'console/components',
  'console/data',
  'console/paths.ts',
  'console/queries',
  'console/request-schema.ts',
  'console/route.ts',
  'console/session/last-choice.ts',
];

export const LAYOUT: Readonly<Record<string, Part>> = {
  bin: {
    may: [
      'console/base-path.ts',
      'console/route.ts',
      'contract',
      'crds',
      'dataplane',
      'demo',
      'kube',
      'manifests',
      'operator',
      'package.json',
      'programs',
    ],
    packages: ['commander', 'pino', 'yaml'],
  },
  programs: {
    may: ['console', 'contract', 'crds', 'dataplane', 'kube', 'manifests', 'operator', 'runtime'],
    packages: ['pino'],
  },
  demo: { may: [], packages: ['ws'] },

  'contract/snapshot': { may: [], packages: ['@bufbuild/protobuf'] },
  'contract/price': { may: ['contract/snapshot'] },
  'contract/usage': { may: ['contract/price', 'contract/snapshot'] },
  'contract/ledger': { may: ['contract/snapshot/time-zone.ts', 'contract/usage'] },
  'contract/activity': { may: [] },
  'contract/objects': { may: ['contract/snapshot', 'crds'] },

  runtime: { may: [] },
  web: { may: ['contract/price'] },
  crds: { may: [], packages: ['ajv', 'js-yaml', '@marcbachmann/cel-js'] },
  kube: { may: [...OBJECTS, 'runtime'], packages: ['@kubernetes/client-node', 'undici', 'pino'] },
  manifests: { may: [...OBJECTS, 'runtime'], packages: ['js-yaml', 'yaml'] },

  console: {
    may: [
      ...CONSOLE_FEATURE,
      'console/catalog',
      'console/describe-error.ts',
      'console/keys',
      'console/overview',
      'console/playground',
      'console/session',
      'console/usage',
      'console/wallet',
      'manifests',
      'runtime',
    ],
    packages: ['@fastify/csrf-protection', 'fastify', 'pino', 'typebox'],
  },
  'console/route.ts': {
    may: [
      'web',
      ...OBJECTS,
      'contract/activity',
      'manifests',
      'console/access',
      'console/data',
      'console/request-schema.ts',
      'console/session/last-choice.ts',
    ],
    packages: ['pino', 'typebox'],
  },
  'console/request-schema.ts': { may: [], packages: ['typebox'] },
  'console/paths.ts': { may: ['crds', 'console/access'] },
  'console/describe-error.ts': { may: ['contract/ledger', 'console/access'], packages: ['fastify'] },
  'console/keys': { may: CONSOLE_FEATURE, packages: ['typebox'] },
  'console/wallet': { may: CONSOLE_FEATURE, packages: ['typebox'] },
  'console/usage': { may: CONSOLE_FEATURE, packages: ['typebox'] },
  'console/catalog': { may: [...CONSOLE_FEATURE, 'manifests'], packages: ['typebox'] },
  'console/playground': { may: CONSOLE_FEATURE, packages: ['typebox'] },
  'console/overview': { may: CONSOLE_FEATURE },
  'console/components': { may: CONSOLE_FEATURE.filter((part) => part !== 'console/components') },
  'console/queries': {
    may: CONSOLE_FEATURE.filter((part) => part !== 'console/components' && part !== 'console/queries'),
    packages: ['js-yaml', 'typebox'],
  },
  'console/session': {
    may: ['crds', 'runtime', 'console/access', 'console/describe-error.ts', 'console/session/cookie-scope.ts'],
    packages: ['@fastify/secure-session', 'fastify'],
  },
  'console/session/cookie-scope.ts': { may: ['console/describe-error.ts'] },
  'console/session/last-choice.ts': {
    may: ['crds/schema/json.ts', 'console/describe-error.ts', 'console/session/cookie-scope.ts'],
    packages: ['fastify'],
  },
  'console/access': {
    may: [...OBJECTS, 'contract/snapshot', 'kube', 'manifests', 'runtime'],
    packages: ['js-yaml', 'yaml', '@kubernetes/client-node', 'undici', 'pino'],
  },
  'console/data': { may: ['contract/ledger', 'contract/price', 'contract/usage', 'runtime'] },

  'operator/metrics.ts': { may: [], packages: ['prom-client'] },
  'operator/sources': {
    may: [
      ...OBJECTS,
      'kube',
      'manifests',
      'operator/security',
      'operator/status',
      'operator/store',
      'operator/xds/distribution.ts',
      'runtime',
    ],
    packages: ['pino'],
  },
  'operator/store': { may: [...OBJECTS, 'runtime'] },
  'operator/status': {
    may: [
      ...OBJECTS,
      'contract/ledger',
      'contract/snapshot',
      'kube/events.ts',
      'kube/status-client.ts',
      'operator/metrics.ts',
      'operator/store',
      'runtime',
    ],
    packages: ['pino'],
  },
  'operator/translate': { may: [...OBJECTS, 'contract/snapshot', 'operator/status', 'operator/store/same.ts'] },
  'operator/security': {
    may: ['contract/objects', 'contract/snapshot', 'kube', 'runtime'],
    packages: ['@peculiar/x509', 'pino', 'reflect-metadata'],
  },
  'operator/xds': {
    may: ['contract/snapshot', 'operator/security', 'operator/status/programming.ts', 'runtime/backoff.ts'],
    packages: ['@grpc/grpc-js', 'pino'],
  },
  'operator/xds/envoy': { may: [], packages: ['@bufbuild/protobuf'] },
  'operator/webhook': {
    may: [...OBJECTS, 'kube', 'operator/metrics.ts', 'operator/security', 'runtime'],
    packages: ['pino'],
  },
  'operator/upkeep': {
    may: [...OBJECTS, 'kube', 'operator/status', 'operator/store', 'runtime'],
    packages: ['pino'],
  },
  'operator/reconcile': {
    may: [
      ...OBJECTS,
      'contract/ledger',
      'contract/snapshot',
      'kube',
      'manifests',
      'operator/metrics.ts',
      'operator/security',
      'operator/sources',
      'operator/status',
      'operator/store',
      'operator/translate',
      'operator/xds/distribution.ts',
      'runtime',
    ],
    packages: ['pino'],
  },

  'dataplane/errors.ts': { may: [] },
  'dataplane/clock.ts': { may: [] },
  'dataplane/content-coding.ts': { may: [] },
  'dataplane/listen.ts': { may: [] },
  'dataplane/message-socket.ts': { may: [], packages: ['ws'] },
  'dataplane/foreign-page.ts': { may: [] },
  'dataplane/memory-budget.ts': { may: ['dataplane/errors.ts', 'dataplane/state'] },
  'dataplane/ledger-check.ts': { may: ['dataplane/admin', 'dataplane/clock.ts', 'dataplane/ledger'] },
  'dataplane/turns.ts': { may: [] },
  'dataplane/fair-worker.ts': { may: [] },
  'dataplane/body-worker': {
    may: ['dataplane/errors.ts', 'dataplane/fair-worker.ts', 'dataplane/protocol', 'dataplane/sealing'],
  },
  'dataplane/protocol': { may: [] },
  'dataplane/sealing': { may: ['dataplane/protocol/sealed-values.ts'] },
  'dataplane/ledger': {
    may: [
      'contract/ledger',
      'contract/price',
      'contract/snapshot/time-zone.ts',
      'contract/usage',
      'dataplane/clock.ts',
      'runtime/backoff.ts',
      'runtime/owner-only.ts',
    ],
    packages: ['@redis/client'],
  },
  'dataplane/activity': {
    may: [
      'contract/activity',
      'dataplane/clock.ts',
      'dataplane/fair-worker.ts',
      'runtime/owner-only.ts',
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
      'contract/snapshot',
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
    may: ['runtime/backoff.ts', 'dataplane/clock.ts', 'contract/snapshot', 'dataplane/state'],
    packages: ['@grpc/grpc-js', '@bufbuild/protobuf', 'pino'],
  },
  'dataplane/telemetry': {
    may: ['dataplane/clock.ts', 'contract/snapshot', ...LEDGER_CONTRACT],
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
      'contract/snapshot',
      'dataplane/message-socket.ts',
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
      'runtime/owner-only.ts',
      'dataplane/sealing',
      'dataplane/turns.ts',
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
      'contract/snapshot',
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
      'dataplane/server/last-response.ts',
      'dataplane/server/malformed.ts',
      'dataplane/server/open-responses.ts',
      'dataplane/server/reply-error.ts',
      'dataplane/server/request-id.ts',
      'dataplane/server/subprotocols.ts',
      'dataplane/upstream/address.ts',
      'dataplane/telemetry',
    ],
    packages: ['undici', 'pino', 'prom-client'],
  },
  'dataplane/tls-files.ts': {
    may: ['dataplane/polled-files.ts', 'dataplane/server/tls-listener.ts'],
    packages: ['pino'],
  },
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
    'images-on-imagen.ts': ['conversation', 'gemini', 'providers'],
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
  bin: 'the command line: commands, their flags, and what they print',
  programs: 'the programs, put together: the operator of a cluster, one machine, a proxy, a sidecar; the only wiring',
  demo: 'the demo provider; knows nothing of the gateway',
  'contract/snapshot': 'the configuration of the data plane, its validation, exact decimals',
  'contract/price': 'prices compiled, worst cases, bills',
  'contract/usage':
    'the record of a call: its columns, filters, CSV, queries over the tables of records; what calls would have cost',
  'contract/ledger': 'what a ledger says to those who only read it',
  'contract/activity': 'recent and refused calls, as the console reads them',
  'contract/objects': 'the frozen view of all objects, their Secrets and ids, and what the operator makes of them',
  runtime: 'the clock of the control plane, turns, backoff, and files that survive a crash',
  web:
    'HTML that cannot be broken out of, the theme of all pages, the price page: shared by the data plane and the ' +
    'console',
  crds: 'the API: one YAML file per kind, and in `schema/` what is made of them',
  kube: 'speaks to an API server: client, list-watch, Lease, statuses, Events, owned Secrets',
  manifests: 'parses manifests and admits them as the API server does, and locates mistakes',
  console: 'the server of the pages for people',
  'console/access': 'objects and rights of a person, in a cluster and in a folder of manifests',
  'console/data': 'spending and calls, read from SQL',
  'console/route.ts': 'what a page is given, and what it returns',
  'console/paths.ts': 'the addresses of pages',
  'console/session': 'signing in and out, and sealed sessions',
  'console/components': 'what pages are built from: page, table, form, field, notice, chart',
  'console/queries': 'what pages of several features ask and compute: statuses, visible calls, price lists',
  'console/keys': 'pages of API keys',
  'console/wallet': 'pages of accounts, their credit and their calls',
  'console/usage': 'pages of usage over all accounts',
  'console/catalog': 'pages of models, prices, groups and routes',
  'console/playground': 'the playground, and its calls of the gateway',
  'console/overview': 'the first page',
  'operator/sources': 'where objects come from: a cluster, or a watched folder',
  'operator/reconcile': 'the reconcile loop; makes keys',
  'operator/security': "the gateway's own key and what is derived from it, certificates and their stores",
  'operator/status': 'computes conditions and writes statuses',
  'operator/store': 'live objects and Secrets of a cluster, bounded by namespace',
  'operator/translate': 'resources in, snapshot and statuses out',
  'operator/upkeep': 'confirms statuses, and withdraws those of a gateway that is gone',
  'operator/webhook': 'puts sidecars into pods',
  'operator/xds': 'serves the configuration to proxies',
  'operator/xds/envoy': 'listener, routes and endpoints for Envoys before the proxies',
  'dataplane/protocol': 'the dialects: facts of a request, converters, streams',
  'dataplane/ledger': 'the promises, the embedded ledger and the one on Valkey',
  'dataplane/activity': 'recent and refused calls for the console, best effort, apart from the ledger',
  'dataplane/content-coding.ts': 'the decoders of gzip, deflate, br and zstd',
  'dataplane/errors.ts': 'the one table of what callers are told, in both dialects',
  'dataplane/clock.ts': 'the clock and timers that parts are given',
  'dataplane/state': 'snapshot → lookup maps; the state in force, swapped as a whole; the look-up of limits',
  'dataplane/upstream': 'one call to one channel',
  'dataplane/xds': 'receives the configuration from an operator, and caches it on disk',
  'dataplane/pipeline': 'the order of a call, a file per stage',
  'dataplane/kept':
    'conversations, and responses that their provider keeps not, which the gateway keeps encrypted for each account',
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
export const WIRING = ['bin', 'programs'] as const;

/** The users of `process`: the command line, and the ledger's thread to exit. */
export const PROCESS_OWNERS = ['bin', 'dataplane/ledger/embedded/faults.ts'] as const;

/** Pure files [P]: no I/O, clock, randomness, timers or process, and only pure imports at run time. */
export const PURE: readonly RegExp[] = [
  /^crds\/schema\/(?!load\.ts$)/,
  /^operator\/translate\//,
  /^operator\/status\/(?!writer)/,
  /^operator\/store\//,
  /^kube\/parse-/,
  /^operator\/sources\/cluster\/parse-/,
  /^operator\/security\/(?:fingerprint|gateway-key|previous-keys)/,
  /^contract\//,
  /^runtime\/(?:backoff|mutex)/,
  /^operator\/reconcile\/(?:last-good|known-spending)/,
  /^operator\/xds\/envoy\//,
  /^console\/(?:components|queries|keys|wallet|usage|catalog|playground\/(?!gateway-caller)|overview)\//,
  /^operator\/xds\/(?:acknowledgements|resource-cache|session|snapshot-changes|subscription)/,
  /^dataplane\/xds\/(?:inventory|kind-inventory|stream)/,
  /^dataplane\/errors\.ts$/,
  /^dataplane\/activity\/(?:entry-of|channel-monitor)/,
  /^dataplane\/protocol\//,
  /^dataplane\/state\/(?:compile|limits)/,
  /^dataplane\/sealing\/sealing-keys/,
  /^dataplane\/ledger\/(?:ledger-core|balances|amounts|load|limit-counters|sliding-minute)/,
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
  typebox: [],
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

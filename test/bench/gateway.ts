/**
 * The gateway as it is measured: `mgw run` with everything on. Keys with quotas and accounts, prices, credentials and
 * slots of channels, the ledger in a file, metrics, and a log line per call. `large` has 100,000 keys and 1,000 models.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelNames } from './cases.ts';
import { startPinned, untilOutput } from './pinned.ts';
import type { PinnedProcess } from './pinned.ts';

interface GatewaySetup {
  /** The folder for manifests, data and logs. */
  readonly folder: string;
  readonly mockUrl: string;
  readonly core: number;
  readonly large: boolean;
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
  /** The address of a shared ledger; by default the ledger is a file. */
  readonly ledgerUrl?: string;
  /** The program, of another tree of sources; by default this tree's. */
  readonly program?: string;
}

export interface MeasuredGateway {
  readonly process: PinnedProcess;
  readonly url: string;
  readonly adminUrl: string;
  /** Keys to call with. */
  readonly keys: readonly string[];
  /** Time from its start until it answered. */
  readonly readyMs: number;
}

const MGW = join(import.meta.dirname, '..', '..', 'bin', 'mgw.js');
const SMALL = { keys: 100, models: 10, accounts: 10 };
const LARGE = { keys: 100_000, models: 1_000, accounts: 1_000 };
/** So many keys are called with, spread over all there are. */
const KEYS_IN_USE = 100;
const OBJECTS_PER_FILE = 2_000;
const API_VERSION = 'modelgateway.dev/v1alpha1';

/** Resolves once it answers. */
export async function startGateway({
  folder,
  mockUrl,
  core,
  large,
  nodeFlags = [],
  ledgerUrl,
  program = MGW,
}: GatewaySetup): Promise<MeasuredGateway> {
  const size = large ? LARGE : SMALL;
  const config = join(folder, 'manifests');
  mkdirSync(config, { recursive: true });
  writeObjects(config, [...platform(mockUrl, size.models), ...tenants(size.keys, size.accounts)]);
  const startedAt = performance.now();
  const started = startPinned(
    [
      process.execPath,
      ...nodeFlags,
      program,
      'run',
      '--config',
      config,
      '--data',
      join(folder, 'data'),
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      ...(ledgerUrl === undefined ? [] : ['--ledger', ledgerUrl]),
    ],
    { core, outputFile: join(folder, 'gateway.log') },
  );
  const [, url = '', adminUrl = ''] = await untilOutput(
    started,
    (output) => /"address":"(http:\S+?)","admin":"(http:\S+?)"/.exec(output) ?? undefined,
  );
  const step = size.keys / KEYS_IN_USE;
  const keys = Array.from({ length: KEYS_IN_USE }, (_none, index) => keyText(Math.floor(index * step)));
  return { process: started, url, adminUrl, keys, readyMs: performance.now() - startedAt };
}

/** JSON is YAML, one object per line: quick to write and to read. */
function writeObjects(folder: string, objects: readonly unknown[]): void {
  for (let from = 0; from < objects.length; from += OBJECTS_PER_FILE) {
    const text = objects
      .slice(from, from + OBJECTS_PER_FILE)
      .map((object) => `---\n${JSON.stringify(object)}\n`)
      .join('');
    writeFileSync(join(folder, `objects-${from / OBJECTS_PER_FILE}.yaml`), text);
  }
}

function platform(mockUrl: string, models: number): unknown[] {
  const routes = [
    route('openai', { protocol: 'OpenAI', baseUrl: `${mockUrl}/v1` }, modelNames('openai')),
    route('anthropic', { protocol: 'Anthropic', baseUrl: mockUrl }, modelNames('anthropic')),
    route(
      'responses',
      {
        protocol: 'OpenAI',
        baseUrl: `${mockUrl}/v1`,
        endpoints: ['Chat', 'Responses'],
      },
      modelNames('responses'),
    ),
  ];
  const others = Array.from({ length: models }, (_none, index) => `other-${index}`);
  for (let from = 0; from < models; from += 250)
    routes.push(
      route(`others-${from}`, { protocol: 'OpenAI', baseUrl: `${mockUrl}/v1` }, others.slice(from, from + 250)),
    );
  const priced = [...modelNames('openai'), ...modelNames('anthropic'), ...modelNames('responses')];
  const catalogs = [catalog('bench', priced)];
  for (let from = 0; from < models; from += 1000)
    catalogs.push(catalog(`others-${from}`, others.slice(from, from + 1000)));
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'provider' }, stringData: { apiKey: 'provider-credential' } },
    ...routes,
    ...catalogs,
    {
      apiVersion: API_VERSION,
      kind: 'Group',
      metadata: { name: 'bench' },
      spec: {
        priceRatio: '0.8',
        allowedNamespaces: { from: 'All' },
        routes: [{ routeSelector: {}, maxConcurrency: 100_000 }],
      },
    },
  ];
}

interface Provider {
  readonly protocol: string;
  readonly baseUrl: string;
  readonly endpoints?: readonly string[];
}

function route(name: string, provider: Provider, models: readonly string[]): unknown {
  return {
    apiVersion: API_VERSION,
    kind: 'ModelRoute',
    metadata: { name },
    spec: {
      models: models.map((model) => ({ name: model, contextTokens: 128_000, maxOutputTokens: 4096 })),
      channels: [
        {
          name: 'mock',
          ...provider,
          auth: { type: 'ApiKey', secretRef: { name: 'provider' } },
          maxConcurrency: 100_000,
        },
      ],
    },
  };
}

function catalog(name: string, models: readonly string[]): unknown {
  const entries = models.map((model) => ({
    name: model,
    vendor: 'Bench',
    quotaType: 'Token',
    modelRatio: '1.25',
    completionRatio: '4',
    cacheRatio: '0.5',
  }));
  return { apiVersion: API_VERSION, kind: 'PriceCatalog', metadata: { name }, spec: { models: entries } };
}

function tenants(keys: number, accounts: number): unknown[] {
  const namespace = 'bench';
  return [
    ...Array.from({ length: accounts }, (_none, index) => ({
      apiVersion: API_VERSION,
      kind: 'Account',
      metadata: {
        name: `account-${index}`,
        namespace,
      },
      spec: { grants: [{ name: 'all', usd: '9000000' }] },
    })),
    ...Array.from({ length: keys }, (_none, index) => index).flatMap((index) => [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `key-${index}`, namespace },
        stringData: { apiKey: keyText(index) },
      },
      {
        apiVersion: API_VERSION,
        kind: 'ApiKey',
        metadata: { name: `key-${index}`, namespace },
        spec: {
          groupRef: { name: 'bench' },
          accountRef: { name: `account-${index % accounts}` },
          maxConcurrency: 10_000,
          quota: {
            limitUsd: '900000',
            period: 'Monthly',
          },
          key: { type: 'Provided', secretRef: { name: `key-${index}` } },
        },
      },
    ]),
  ];
}

function keyText(index: number): string {
  return `sk-bench${String(index).padStart(8, '0')}${'k'.repeat(40)}`;
}

/** A Wallet over objects and calls in memory: two tenants and a platform team, each with rights of their own. */
import type { FastifyInstance } from 'fastify';
import type { UsageRecord } from '#usage/record.ts';
import type { MarginSum } from '#usage/tables.ts';
import type { ActivityEntry, ActivityQuery, ActivityReader, ProxyStats, RefusalCount } from '#activity/activity.ts';
import { SHORTAGE_CODES } from '#activity/activity.ts';
import type { ChannelDoctor } from '../../../../console/route.ts';
import { buildConsole } from '../../../../console/server.ts';
import { buildResources } from '../../../../contract/objects/resources.ts';
import type {
  CallPage,
  CallQuery,
  MarginName,
  SpendingSum,
  SpendingSums,
  UsageStore,
} from '../../../../console/data/usage.ts';
import { createConsoleFixture, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import type { ConsoleFixture } from '../../../support/console-access.ts';
import { bodyOf, csrfIn, FORM_HEADERS, signIn } from '../stand.ts';
import { TRANSLATOR } from '../../../../operator/translate/translator.ts';

const DAY_MS = 86_400_000;

export function accountManifest(
  namespace: string,
  name: string,
  grants: readonly object[] = [
    {
      name: 'welcome',
      usd: '100.00',
      reason: 'To try it out',
    },
  ],
  status?: object,
): unknown {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'Account',
    metadata: { namespace, name },
    spec: { grants },
    ...(status === undefined ? {} : { status }),
  };
}

/** States what it costs, so that the platform team sees margins. */
export const ROUTE_WITH_COST = {
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'ModelRoute',
  metadata: { namespace: 'model-gateway', name: 'anthropic' },
  spec: {
    models: [{ name: 'claude-sonnet-4-5', contextTokens: 200_000, maxOutputTokens: 64_000 }],
    channels: [
      { name: 'direct', protocol: 'Anthropic', baseUrl: 'https://a.example', cost: { catalogRef: { name: 'costs' } } },
    ],
  },
};

/** A usage store over a list. */
export function usageBook(
  records: readonly UsageRecord[],
  wholeSinceMs = 0,
): UsageStore & { readonly asked: CallQuery[]; readonly prepared: string[] } {
  const asked: CallQuery[] = [];
  const prepared: string[] = [];
  const chosen = (query: CallQuery): UsageRecord[] => {
    asked.push(query);
    return records
      .filter(
        (record) =>
          query.accounts.includes(record.account) &&
          (query.keysOf?.[record.account] ?? [record.keyUid]).includes(record.keyUid) &&
          (query.group ?? record.group) === record.group &&
          (query.channel ?? record.channel) === record.channel &&
          (query.callId ?? record.callId) === record.callId &&
          (query.keyUid ?? record.keyUid) === record.keyUid &&
          (query.model ?? record.model) === record.model &&
          (query.status ?? record.status) === record.status &&
          record.createdMs >= (query.sinceMs ?? 0) &&
          record.createdMs < (query.untilMs ?? Infinity),
      )
      .sort((a, b) => a.createdMs - b.createdMs);
  };
  return {
    asked,
    prepared,
    sums: (query) => Promise.resolve({ ...sumsOf(chosen(query)), wholeSinceMs }),
    async series(query, { by, unit }) {
      const intervalMs = unit === 'Day' ? DAY_MS : DAY_MS / 24;
      const nameOf = ({ model, keyUid, group, account }: UsageRecord): string =>
        ({ Model: model, Key: keyUid, Group: group, Account: account })[by];
      const grouped = Map.groupBy(chosen(query), (record) =>
        JSON.stringify([Math.floor(record.createdMs / intervalMs) * intervalMs, nameOf(record)]),
      );
      const sums = [...grouped].map(([id, some]) => {
        const [startMs, name] = JSON.parse(id) as [number, string];
        return { startMs, name, ...sumOf(some) };
      });
      return { sums, wholeSinceMs };
    },
    margins: (query, by) => Promise.resolve({ sums: marginsOf(chosen(query), by), wholeSinceMs }),
    page(query, { size, before }): Promise<CallPage> {
      const all = chosen(query).toReversed();
      const from = before === undefined ? 0 : Number(before);
      return Promise.resolve({
        calls: all.slice(from, from + size),
        next: from + size < all.length ? String(from + size) : undefined,
        wholeSinceMs,
      });
    },
    find: (query, { callId }) => Promise.resolve(chosen(query).find((record) => record.callId === callId)),
    keyNames: (accounts) =>
      Promise.resolve(
        new Map(
          records.flatMap(({ account, keyUid, keyName }) =>
            keyName !== undefined && accounts.includes(account) ? [[keyUid, { name: keyName, account }]] : [],
          ),
        ),
      ),
    async *records(query) {
      yield* chosen(query);
    },
    prepare: (accounts) => void prepared.push(...accounts),
    close: () => undefined,
  };
}

function sumsOf(records: readonly UsageRecord[]): Omit<SpendingSums, 'wholeSinceMs'> {
  const by = (nameOf: (record: UsageRecord) => string): Map<string, SpendingSum> =>
    new Map(
      [...Map.groupBy(records, nameOf)]
        .map(([name, some]) => [name, sumOf(some)] as const)
        .sort(([, a], [, b]) => Number(b.costNanoUsd - a.costNanoUsd)),
    );
  return {
    all: sumOf(records),
    byKey: by(({ keyUid }) => keyUid),
    byModel: by(({ model }) => model),
    byDay: new Map(
      [...by(({ createdMs }) => new Date(createdMs).toISOString().slice(0, 10))].sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

/** What `UsageStore.margins` returns for these records. */
export function marginsOf(records: readonly UsageRecord[], by: readonly MarginName[]): MarginSum[] {
  const sums = Map.groupBy(records, (record) => JSON.stringify(by.map((name) => record[name] ?? '')));
  return [...sums.values()].map((some) => {
    const { account = '', model = '', channel = '', keyUid = '', group = '', labels = '' } = some[0] ?? {};
    const known = some.filter(
      ({ upstreamCostNanoUsd, status, costNanoUsd }) =>
        upstreamCostNanoUsd !== undefined || (status === 'Failed' && costNanoUsd === 0n),
    );
    const { calls, costNanoUsd, ...tokens } = sumOf(some);
    return {
      account,
      model,
      channel,
      keyUid,
      group,
      labels,
      calls,
      ...tokens,
      billedNanoUsd: costNanoUsd,
      known: {
        calls: known.length,
        billedNanoUsd: sumOf(known).costNanoUsd,
        upstreamNanoUsd: known.reduce((sum, { upstreamCostNanoUsd = 0n }) => sum + upstreamCostNanoUsd, 0n),
      },
    };
  });
}

function sumOf(records: readonly UsageRecord[]): SpendingSum {
  return {
    calls: records.length,
    costNanoUsd: records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
    inputTokens: records.reduce((sum, { tokens }) => sum + tokens.input, 0),
    outputTokens: records.reduce((sum, { tokens }) => sum + tokens.output, 0),
  };
}

export function call(callId: string, keyUid: string, more: Partial<UsageRecord> = {}): UsageRecord {
  return {
    callId,
    keyUid,
    account: 'team-a/main',
    createdMs: TEST_NOW_MS - 3_600_000,
    group: 'auto-a',
    model: 'claude-sonnet-4-5',
    channel: 'anthropic/direct',
    catalog: 'model-gateway/anthropic@3',
    status: 'Succeeded',
    usageSource: 'Provider',
    tokens: {
      input: 2000,
      cached: 10_000,
      cacheWrite5m: 0,
      cacheWrite1h: 0,
      output: 800,
    },
    costNanoUsd: 21_000_000n,
    unbilledNanoUsd: 0n,
    durationMs: 2_340,
    ...more,
  };
}

/** Many calls of some keys over 90 days, the same each time. */
export function manyCalls(count: number, keyUids: readonly string[], account = 'team-a/main'): UsageRecord[] {
  const models = [
    'claude-sonnet-4-5',
    'gpt-5-mini',
    'gemini-2.5-flash',
    'claude-opus-4-5',
    'gpt-image-1',
    'deepseek-chat',
  ];
  const statuses = [
    'Succeeded',
    'Succeeded',
    'Succeeded',
    'Succeeded',
    'Succeeded',
    'Succeeded',
    'ClientClosed',
    'Failed',
    'ProviderCut',
    'Succeeded',
  ] as const;
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed + 0x6d2b79f5) | 0;
    const mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    return ((((mixed ^ (mixed >>> 7)) >>> 0) % 65_536) * below) >>> 16;
  };
  return Array.from({ length: count }, (_, index) => {
    const age = Math.floor((index / count) ** 0.9 * 90 * DAY_MS);
    const weekday = new Date(TEST_NOW_MS - 60_000 - age).getUTCDay();
    const input = random(weekday % 6 === 0 ? 1500 : 6000 + weekday * 800) + 40;
    const output = random(1500);
    const status = statuses[random(statuses.length)] ?? 'Succeeded';
    return call(`req_${index.toString(16).padStart(32, '0')}`, keyUids[random(keyUids.length)] ?? '', {
      account,
      status,
      createdMs: TEST_NOW_MS - 60_000 - age,
      model: models[Math.min(random(7), random(6))] ?? 'gpt-5-mini',
      usageSource: status === 'ClientClosed' ? 'Partial' : 'Provider',
      tokens: {
        input,
        cached: random(3) === 0 ? 10_240 : 0,
        cacheWrite5m: random(9) === 0 ? 2_048 : 0,
        cacheWrite1h: 0,
        output,
      },
      durationMs: 300 + random(14_000),
      costNanoUsd: status === 'Failed' ? 0n : BigInt(input) * 3_000n + BigInt(output) * 15_000n,
    });
  });
}

export interface WalletStand {
  readonly app: FastifyInstance;
  readonly world: ConsoleFixture;
  /** Returns a page for a person, by their token. */
  see(
    token: string,
    url: string,
  ): Promise<{ readonly status: number; readonly body: string; readonly headers: Readonly<Record<string, unknown>> }>;
  /** The same with the layout around it. */
  raw(token: string, url: string): Promise<{ readonly body: string }>;
  /** Posts a form from the page at `from`. */
  post(
    token: string,
    url: string,
    fields: Readonly<Record<string, string>>,
    from?: string,
  ): Promise<{ readonly status: number; readonly body: string; readonly location: string }>;
}

/** `rita` can only read in team-a, `ulla` sees keys of team-a and no account, `paul` can do everything. */
const PEOPLE = [
  { name: 'alice', namespaces: ['team-a'] },
  { name: 'bob', namespaces: ['team-b'] },
  { name: 'rita', namespaces: ['team-a'], verbs: ['get', 'list'] },
  { name: 'ulla', namespaces: ['team-a'], kinds: ['ApiKey'] },
  { name: 'nobody', namespaces: [] },
  { name: 'paul', namespaces: ['*'] },
  { name: 'petra', namespaces: ['*'], kinds: ['ApiKey', 'Account', 'Group', 'ModelRoute', 'PriceCatalog'] },
] as const;

/** An activity store over lists. */
export function activityOf(
  entries: readonly ActivityEntry[],
  counts: readonly RefusalCount[] = [],
  figures: readonly ProxyStats[] = [],
): ActivityReader & { readonly asked: ActivityQuery[] } {
  const asked: ActivityQuery[] = [];
  const chosen = <T extends { account: string; keyUid: string }>(list: readonly T[], query: ActivityQuery): T[] => {
    asked.push(query);
    return list.filter(({ account, keyUid }) => account === query.account && (query.keyUid ?? keyUid) === keyUid);
  };
  return {
    asked,
    refusals: async (query) => chosen(counts, query).filter(({ day }) => day >= query.fromDay && day <= query.toDay),
    refused: async (query) =>
      chosen(entries, query)
        .filter(({ refused }) => refused)
        .toSorted((a, b) => b.atMs - a.atMs)
        .slice(0, query.most),
    async shortages(queries) {
      return queries
        .flatMap((query) => [...Map.groupBy(chosen(entries, query), ({ keyUid }) => keyUid).values()])
        .flatMap((ofKey) => {
          const [last] = ofKey
            .toSorted((a, b) => b.atMs - a.atMs)
            .filter(({ refused, errorCode }) => !refused || SHORTAGE_CODES.has(errorCode));
          return last?.refused === true ? [last] : [];
        });
    },
    channels: async () => figures,
    find: async (query) => chosen(entries, query).find(({ callId }) => callId === query.callId),
    close: () => undefined,
  };
}

export function walletStand(
  usage: UsageStore | undefined,
  manifests: readonly unknown[] = [],
  activity?: ActivityReader,
  doctor?: ChannelDoctor,
): WalletStand {
  const world = createConsoleFixture([
    accountManifest('team-a', 'main', undefined, {
      observedGeneration: 1,
      creditUsd: '100',
      spentUsd: '23.4567',
      balanceUsd: '76.5433',
      heldUsd: '0.125',
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Ready',
          message: '',
          lastTransitionTime: '2026-11-01T09:00:00Z',
          observedGeneration: 1,
        },
      ],
    }),
    accountManifest('team-b', 'main'),
    keyManifest('team-a', 'ci', { accountRef: { name: 'main' } }),
    keyManifest('team-a', 'app', { accountRef: { name: 'main' } }),
    keyManifest('team-b', 'theirs', { accountRef: { name: 'main' } }),
    ...manifests,
  ]);
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (fields: unknown, message?: string) => {
      console.error(message, fields);
    },
  };
  const app = buildConsole({
    access: world.access(PEOPLE),
    usage,
    activity,
    doctor,
    translator: TRANSLATOR,
    resources: () =>
      buildResources({
        objects: world.objects.values(),
        secrets: [],
        namespaces: new Map(),
      }),
    gatewayNamespace: 'model-gateway',
    gatewayUrl: 'https://models.example.com',
    sealingKeys: [new Uint8Array(32).fill(7)],
    nowMs: () => TEST_NOW_MS,
    log,
  });
  const cookies = new Map<string, string>();
  const cookieOf = async (token: string): Promise<string> => {
    const cookie = cookies.get(token) ?? (await signIn(app, token));
    cookies.set(token, cookie);
    return cookie;
  };
  const see: WalletStand['see'] = async (token, url) => {
    const answer = await app.inject({
      method: 'GET',
      url,
      headers: { host: 'localhost:8081', cookie: await cookieOf(token) },
    });
    return { status: answer.statusCode, body: bodyOf(answer), headers: answer.headers };
  };
  return {
    app,
    world,
    see,
    raw: async (token, url) =>
      app.inject({ method: 'GET', url, headers: { host: 'localhost:8081', cookie: await cookieOf(token) } }),
    async post(token, url, fields, from = '/wallet/team-a/main') {
      const csrf = csrfIn((await see(token, from)).body);
      const answer = await app.inject({
        method: 'POST',
        url,
        headers: { ...FORM_HEADERS, cookie: await cookieOf(token) },
        payload: new URLSearchParams({ csrf, ...fields }).toString(),
      });
      return { status: answer.statusCode, body: bodyOf(answer), location: answer.headers['location'] ?? '' };
    },
  };
}

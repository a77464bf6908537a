/**
 * The data of the console's browser tests: two teams with accounts and keys, prices of several groups, and a month of
 * calls in a real ledger, written with a clock that advances. Only the date differs between runs.
 */
import type { Ledger } from '../../../dataplane/ledger/ledger.ts';
import type { CallOrigin, CallStatus } from '#usage/record.ts';
import { holdRequest } from '../../unit/dataplane/ledger/calls.ts';

export const DAY_MS = 86_400_000;
const DAYS = 30;
const MILLION = 1_000_000n;

/** Of the gateway: routes to the demo provider, prices and groups. */
export function platformManifests(demoUrl: string): string {
  return `# What the platform team writes.
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models:
  - {name: gpt-4o, inputs: [Text, Image], contextTokens: 128000, maxOutputTokens: 16384}
  - {name: gpt-4o-mini, inputs: [Text, Image], contextTokens: 128000, maxOutputTokens: 16384}
  - {name: text-embedding-3-small, endpoints: [Embeddings], contextTokens: 8191}
  - {name: flux-1.1-pro, endpoints: [Images]}
  channels:
  - {name: demo, protocol: OpenAI, baseUrl: "${demoUrl}/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: anthropic}
spec:
  models:
  - {name: claude-sonnet-4-6, inputs: [Text, Image], contextTokens: 200000, maxOutputTokens: 64000}
  - {name: claude-haiku-4-5, inputs: [Text, Image], contextTokens: 200000, maxOutputTokens: 64000}
  channels:
  - {name: demo, protocol: Anthropic, baseUrl: "${demoUrl}"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: standard}
spec:
  models:
  - {name: gpt-4o, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: gpt-4o-mini, vendor: OpenAI, quotaType: Token, modelRatio: "0.075", completionRatio: "4", cacheRatio: "0.5"}
  - {name: claude-sonnet-4-6, vendor: Anthropic, quotaType: Token, modelRatio: "1.5", completionRatio: "5",
      cacheRatio: "0.1"}
  - {name: claude-haiku-4-5, vendor: Anthropic, quotaType: Token, modelRatio: "0.5", completionRatio: "5",
      cacheRatio: "0.1"}
  - {name: text-embedding-3-small, vendor: OpenAI, quotaType: Token, modelRatio: "0.01"}
  - {name: flux-1.1-pro, vendor: BFL, quotaType: Request, requestUsd: "0.04"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: standard}
spec: {displayName: Standard, allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: batch}
spec: {displayName: Batch, priceRatio: "0.5", allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: priority}
spec: {displayName: Priority, priceRatio: "1.5", allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
`;
}

interface ScenicKey {
  readonly namespace: string;
  readonly name: string;
  readonly group: string;
  readonly quota: string;
  readonly more?: string;
  readonly models: readonly string[];
  readonly callsADay: number;
  /** The average cost of one call. */
  readonly costUsd: number;
  /** The age of the last call, before today. */
  readonly endedDays?: number;
}

export const KEYS: readonly ScenicKey[] = [
  {
    namespace: 'research',
    name: 'ci-bot',
    group: 'standard',
    quota: '{limitUsd: "5.00", period: Daily}',
    models: ['gpt-4o-mini', 'claude-haiku-4-5'],
    callsADay: 5,
    costUsd: 0.06,
  },
  {
    namespace: 'research',
    name: 'nightly-evals',
    group: 'batch',
    quota: '{limitUsd: "60.00", period: Monthly}',
    models: ['claude-sonnet-4-6', 'gpt-4o'],
    callsADay: 4,
    // less than four fifths of the quota at the end of any month
    costUsd: 0.35,
  },
  {
    namespace: 'research',
    name: 'notebooks',
    group: 'priority',
    quota: '{limitUsd: "25.00", period: Never}',
    more: ', maxConcurrency: 8',
    models: ['claude-sonnet-4-6'],
    callsADay: 2,
    costUsd: 0.34,
  },
  {
    namespace: 'research',
    name: 'paper-search',
    group: 'standard',
    quota: '{}',
    models: ['text-embedding-3-small', 'claude-haiku-4-5'],
    callsADay: 3,
    costUsd: 0.09,
  },
  {
    namespace: 'research',
    name: 'summer-demo',
    group: 'standard',
    quota: '{limitUsd: "10.00"}',
    more: ', expirationTime: "2026-09-30T00:00:00Z"',
    models: ['gpt-4o'],
    callsADay: 1,
    costUsd: 0.2,
    endedDays: 21,
  },
  {
    namespace: 'support',
    name: 'chat-widget',
    group: 'priority',
    quota: '{limitUsd: "120.00", period: Monthly}',
    models: ['claude-sonnet-4-6', 'claude-haiku-4-5'],
    callsADay: 5,
    costUsd: 0.42,
  },
  {
    namespace: 'support',
    name: 'triage',
    group: 'batch',
    quota: '{limitUsd: "12.00", period: Never}',
    models: ['gpt-4o-mini'],
    callsADay: 2,
    costUsd: 0.2,
  },
  {
    namespace: 'support',
    name: 'voice-pilot',
    group: 'standard',
    quota: '{limitUsd: "30.00"}',
    more: ', enabled: false',
    models: ['gpt-4o'],
    callsADay: 1,
    costUsd: 0.3,
    endedDays: 12,
  },
];

/** One team's account, with a comment that must be kept, and its keys. */
export function teamManifests(team: string): string {
  const keys = KEYS.filter(({ namespace }) => namespace === team).map(
    ({ namespace, name, group, quota, more = '' }) => `---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: ${namespace}}
spec: {groupRef: {name: ${group}}, accountRef: {name: main}, quota: ${quota}${more}}
`,
  );
  return `# Whoever needs more credit asks finance.
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: main, namespace: ${team}}
spec:
  grants:
  - {name: 2026-10, usd: "100.00", reason: "October's budget"}
  - {name: 2026-11, usd: "150.00", reason: "November's budget, as agreed with finance"}
${keys.join('')}`;
}

interface PlannedCall {
  readonly origin: CallOrigin;
  readonly costNanoUsd: bigint;
  readonly status: CallStatus;
  readonly durationMs: number;
  readonly tokens: { readonly input: number; readonly cached: number; readonly output: number };
}

/** A month of calls until `nowMs`, oldest first. Weekends are quiet. */
function planCalls(uidOf: (namespace: string, name: string) => string, nowMs: number): PlannedCall[] {
  const next = sequence();
  const calls: PlannedCall[] = [];
  for (let day = DAYS - 1; day >= 0; day--) {
    const quiet = [0, 6].includes(new Date(nowMs - day * DAY_MS).getUTCDay());
    for (const key of KEYS.filter(({ endedDays = -1 }) => day > endedDays)) {
      for (let n = 0; n < Math.round(key.callsADay * (quiet ? 0.3 : 0.7 + 0.7 * next())); n++)
        calls.push(
          planCall(key, {
            uid: uidOf(key.namespace, key.name),
            atMs: nowMs - day * DAY_MS - Math.floor(next() * 36_000_000) - 600_000,
            number: calls.length,
            next,
          }),
        );
    }
  }
  return calls.sort((a, b) => a.origin.createdMs - b.origin.createdMs);
}

interface Drawn {
  readonly uid: string;
  readonly atMs: number;
  readonly number: number;
  readonly next: () => number;
}

function planCall({ namespace, group, models, costUsd }: ScenicKey, { uid, atMs, number, next }: Drawn): PlannedCall {
  const model = models[Math.floor(next() * models.length)] ?? '';
  const input = Math.floor(400 + next() * 12_000);
  return {
    origin: {
      callId: `req_${((number * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, '0')}${String(number).padStart(24, '0')}`,
      keyUid: uid,
      account: `${namespace}/main`,
      createdMs: atMs,
      group,
      model,
      channel: `${model.startsWith('claude') ? 'anthropic' : 'openai'}/demo`,
      catalog: 'model-gateway/standard@1',
    },
    costNanoUsd: BigInt(Math.round(costUsd * (0.3 + 1.4 * next()) * 1_000_000)) * 1000n,
    durationMs: Math.floor(600 + next() * 9000),
    status: number % 41 === 7 ? 'Failed' : number % 29 === 3 ? 'ClientClosed' : 'Succeeded',
    tokens: { input, cached: number % 3 === 0 ? Math.floor(input * 0.6) : 0, output: Math.floor(80 + next() * 1800) },
  };
}

/** Numbers between 0 and 1, in the same order every time. */
function sequence(): () => number {
  let state = 20_261_121;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

interface Filling {
  /** The ledger's clock. */
  readonly clock: { nowMs: number };
  readonly uidOf: (namespace: string, name: string) => string;
  readonly nowMs: number;
}

/** Writes the month into a new ledger, each call at its own time, and closes it. */
export async function fillLedger(ledger: Ledger, { clock, uidOf, nowMs }: Filling): Promise<void> {
  try {
    for (const { origin, costNanoUsd, status, durationMs, tokens } of planCalls(uidOf, nowMs)) {
      clock.nowMs = origin.createdMs;
      const limits = {
        ...limitsOf(origin, uidOf),
        keyGeneration: 0n,
        accountCreditNanoUsd: 1000n * 1000n * MILLION,
        accountGeneration: 0n,
      };
      const { outcome } = await ledger.admit(holdRequest(origin.callId, costNanoUsd, { origin, limits }));
      if (outcome !== 'Held') continue; // its limit is reached, as in life
      clock.nowMs += durationMs;
      await ledger.settle({
        callId: origin.callId,
        origin,
        status,
        durationMs,
        progress: {
          costNanoUsd,
          usageSource: 'Provider',
          tokens: { cacheWrite5m: 0, cacheWrite1h: 0, ...tokens },
        },
      });
    }
  } finally {
    await ledger.close();
  }
}

function limitsOf(
  { keyUid }: CallOrigin,
  uidOf: Filling['uidOf'],
): { readonly period: 'Never' | 'Daily' | 'Monthly'; readonly keyLimitNanoUsd: bigint | null } {
  const quota = KEYS.find(({ namespace, name }) => uidOf(namespace, name) === keyUid)?.quota ?? '';
  const [, limit] = /limitUsd: "(\d+)/.exec(quota) ?? [];
  return {
    period: quota.includes('Daily') ? 'Daily' : quota.includes('Monthly') ? 'Monthly' : 'Never',
    keyLimitNanoUsd: limit === undefined ? null : BigInt(limit) * 1000n * MILLION,
  };
}

/** One round of churn: edits that are timed, a rotation, a namespace that comes and goes, and in turn a fault. */
import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../e2e/charts/situations.ts';
import { failures as failuresOf, startTraffic } from '../e2e/node/traffic.ts';
import { killPod, operatorLease, packagedChart, RELEASE, rollout, VALUES } from '../e2e/node/cluster-release.ts';
import type { ClusterRelease } from '../e2e/node/cluster-release.ts';
import type { KubeAnswer } from '../support/kube/client.ts';
import type { Tenants } from './tenants.ts';

export interface RoundResult {
  readonly event: Event;
  /** From each edit's request until every proxy enforced it. */
  readonly enforcedMs: readonly number[];
  /** The part of that after the API server's answer. */
  readonly afterAnswerMs: readonly number[];
  /** The same until the object's status said so. */
  readonly reportedMs: readonly number[];
  readonly memory: readonly (readonly [name: string, mebibytes: number])[];
  readonly calls: number;
  /** The number of failed calls that ran on a killed proxy, or came to it before Kubernetes had noticed. */
  readonly cut: number;
  /** The other failed calls. */
  readonly failures: readonly string[];
}

type Event = 'nothing' | 'operator killed' | 'proxy killed' | 'upgrade';

const EVENTS: readonly Event[] = ['nothing', 'operator killed', 'proxy killed', 'upgrade'];
const EDITS = 15;
const BETWEEN_EDITS_MS = 500;
/** Short compared with the times measured. Polling more often would load the cores that are being measured. */
const POLL_MS = 10;
const STATUS_POLL_MS = 25;
const LANES = 4;
const WORDS = 40;
/** The time in which a Service still sends calls to a proxy that was killed. */
const UNNOTICED_MS = 15_000;
/** The node has the same image under both. */
export const VERSIONS = ['0.1.0', '0.1.1'] as const;
const ROLLED_OUT = [
  ['dataplane', 3],
  ['operator', 2],
  ['edge', 2],
] as const;

export async function playRound(release: ClusterRelease, tenants: Tenants, round: number): Promise<RoundResult> {
  const event = EVENTS[round % EVENTS.length] ?? 'nothing';
  const keys = [await release.key('first')];
  const traffic = startTraffic({ urls: await release.urls(), keys, lanes: LANES, words: WORDS });
  const [times, killedMs, guests] = await Promise.all([
    timeEdits(release, tenants, round),
    strike(release, event, round),
    tenants.welcome(round),
  ]);
  await tenants.dismiss(guests);
  const calls = await traffic.stop();
  const bad = calls.filter((call) => failuresOf([call]).length > 0);
  const [cut, failed] = [true, false].map((isCut) =>
    bad.filter(({ sentMs, overMs }) => isCut === (sentMs <= killedMs + UNNOTICED_MS && overMs >= killedMs)),
  );
  return {
    ...times,
    event,
    memory: await release.memory(),
    calls: calls.length,
    cut: cut?.length ?? 0,
    failures: failuresOf(failed ?? []),
  };
}

type Times = Pick<RoundResult, 'enforcedMs' | 'afterAnswerMs' | 'reportedMs'>;

/** Switches keys off and on, one edit at a time, and rotates the last of them. */
async function timeEdits(release: ClusterRelease, tenants: Tenants, round: number): Promise<Times> {
  const enforcedMs: number[] = [];
  const afterAnswerMs: number[] = [];
  const reportedMs: number[] = [];
  for (let edit = 0; edit < EDITS; edit++) {
    const n = ((round * EDITS + edit) * 7919) % tenants.keys;
    const key = await tenants.secretOf(n);
    for (const enabled of [false, true]) {
      const startMs = performance.now();
      const elapsed = (): number => performance.now() - startMs;
      const answer = tenants.patch(n, { enabled });
      const [enforced, answered, reported] = await Promise.all([
        enforcedByAll(release, key, enabled ? 200 : 401).then(elapsed),
        answer.then(elapsed),
        answer.then(({ body: { metadata } }) => reportedInStatus(tenants, n, metadata.generation)).then(elapsed),
      ]);
      enforcedMs.push(enforced);
      afterAnswerMs.push(Math.max(0, enforced - answered));
      reportedMs.push(reported);
      await delay(BETWEEN_EDITS_MS);
    }
  }
  const n = (round * 7919) % tenants.keys;
  const before = await tenants.secretOf(n);
  const {
    spec: { key },
  } = await tenants.get(n);
  await tenants.patch(n, { key: { rotation: key.rotation + 1 } });
  await enforcedByAll(release, before, 401);
  return { enforcedMs, afterAnswerMs, reportedMs };
}

/** Polls each ready proxy until it answers with this status. A proxy that does not answer has ended. */
async function enforcedByAll(release: ClusterRelease, key: string, status: number): Promise<void> {
  const addresses = await proxyAddresses(release);
  await Promise.all(
    addresses.map(async (address) => {
      for (;;) {
        const answer = await fetch(`${address}/v1/models`, {
          headers: { authorization: `Bearer ${key}` },
          signal: AbortSignal.timeout(2_000),
        }).catch(() => undefined);
        await answer?.text().catch(() => '');
        if (answer === undefined || answer.status === status) return;
        await delay(POLL_MS);
      }
    }),
  );
}

async function proxyAddresses(release: ClusterRelease): Promise<readonly string[]> {
  const selector = 'labelSelector=app.kubernetes.io/component=dataplane';
  const { items } = await release.get(`/api/v1/namespaces/${NAMESPACE}/pods?${selector}`);
  return (items as KubeAnswer['body'][]).filter(isServing).map(({ spec, status }) => {
    const port = spec.containers[0].ports.find(({ name }: { name: string }) => name === 'http').containerPort;
    return `http://${status.podIP}:${port}`;
  });
}

function isServing({ metadata, status }: KubeAnswer['body']): boolean {
  const ready = status.conditions?.find(({ type }: { type: string }) => type === 'Ready');
  return metadata.deletionTimestamp === undefined && ready?.status === 'True';
}

async function reportedInStatus(tenants: Tenants, n: number, generation: number): Promise<void> {
  while ((await tenants.get(n)).status.observedGeneration < generation) await delay(STATUS_POLL_MS);
}

/** Resolves when the release is whole again: with the time of a proxy's kill, or Infinity if there was none. */
async function strike(release: ClusterRelease, event: Event, round: number): Promise<number> {
  switch (event) {
    case 'operator killed': {
      const { holderIdentity } = await operatorLease(release);
      await killPod(
        release,
        (await release.pods('operator')).find(({ name }) => name === holderIdentity),
      );
      return Infinity;
    }
    case 'proxy killed':
      return killPod(release, (await release.pods('dataplane'))[0]);
    case 'upgrade': {
      await upgrade(release, VERSIONS[Math.floor(round / EVENTS.length + 1) % VERSIONS.length] ?? VERSIONS[0]);
      return Infinity;
    }
    case 'nothing':
      return Infinity;
  }
}

async function upgrade(release: ClusterRelease, version: string): Promise<void> {
  await release.helm('upgrade', RELEASE, await packagedChart(release, version), '--values', VALUES);
  for (const [component, count] of ROLLED_OUT) {
    await rollout(release, 'status', component, '--timeout=180s');
    await release.settled(component, count);
  }
}

/** Sends a probe to each channel of a configuration, one after another. */
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { createUpstreams } from '../../dataplane/upstream/client.ts';
import { readForwardProxies } from '../../dataplane/upstream/forward-proxy.ts';
import type { ChannelDoctor } from '../../console/route.ts';
import { planProbes } from './plan.ts';
import type { Plan } from './plan.ts';
import { askChannel } from './probe.ts';
import type { ProbeResult } from './probe.ts';
import { describeCosts } from './report.ts';

/**
 * Asks each channel of the plan, as this process's environment leads. A channel that does not answer is an outcome too.
 * Rejects with InvalidForwardProxy.
 */
export async function examine({ probes }: Plan): Promise<readonly ProbeResult[]> {
  const upstreams = createUpstreams({
    proxies: readForwardProxies(process.env),
    identity: { env: process.env, nowMs: () => Date.now(), random: () => Math.random() },
  });
  const outcomes: ProbeResult[] = [];
  try {
    for (const probe of probes) outcomes.push(await askChannel(upstreams, probe));
  } finally {
    await upstreams.close();
  }
  return outcomes;
}

/** The doctor of a console in the gateway's own process; `snapshot` is the one in force. */
export function createChannelDoctor(snapshot: () => Pick<Snapshot, 'routes'>): ChannelDoctor {
  const planOf = (only: string): Plan => planProbes(snapshot(), { only, allModels: false });
  return {
    costs: (route) => describeCosts(planOf(route)),
    async check(route) {
      const outcomes = await examine(planOf(route));
      return outcomes.map(({ probe: { channel, model }, asked, problem, message }) => ({
        channel,
        model: model.name,
        asked,
        problem,
        message,
      }));
    },
  };
}

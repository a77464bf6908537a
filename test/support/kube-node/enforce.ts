/** Keeps a test node's packet filter in line with its NetworkPolicies. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../kube/client.ts';
import { compilePolicies } from './policies.ts';
import type { Sandbox } from './sandbox.ts';

const PAUSE_MS = 300;
const LISTS = {
  policies: '/apis/networking.k8s.io/v1/networkpolicies',
  pods: '/api/v1/pods',
  namespaces: '/api/v1/namespaces',
} as const;

export interface Enforcement {
  /** The reason why it does not work; undefined if it does. */
  failure(): string | undefined;
  stop(): Promise<void>;
}

/** Resolves when the current policies are enforced. */
export async function enforcePolicies(sandbox: Sandbox, client: KubeClient): Promise<Enforcement> {
  const stopping = new AbortController();
  const file = join(sandbox.folder, 'policies');
  let [inForce, failure]: [string, string | undefined] = ['', undefined];
  const look = async (): Promise<void> => {
    const [policies, pods, namespaces] = await Promise.all(
      [LISTS.policies, LISTS.pods, LISTS.namespaces].map(async (path) => (await client.call('GET', path)).body.items),
    );
    const text = compilePolicies({ policies, pods, namespaces, exempt: [sandbox.network.node, sandbox.network.host] });
    if (text === inForce) return;
    await writeFile(file, text);
    await sandbox.run('iptables-restore', ['--wait', '--noflush', file]);
    inForce = text;
  };
  await look();
  // to the node itself too, where the API server and the DNS server are
  for (const chain of ['FORWARD', 'INPUT'])
    await sandbox.run('iptables', ['--wait', '-I', chain, '1', '-j', 'MGW-POLICY']);
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      await delay(PAUSE_MS);
      await look().then(
        () => {
          failure = undefined;
        },
        (error: unknown) => {
          failure = error instanceof Error ? error.message : String(error);
        },
      );
    }
  })();
  return {
    failure: () => failure,
    async stop() {
      stopping.abort();
      await looking;
    },
  };
}

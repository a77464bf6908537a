/** Installs CustomResourceDefinitions into a test API server and waits until their kinds can be used. */
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeAnswer, KubeClient } from './client.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLL_MS = 50;
const ESTABLISHED_WITHIN_MS = 120_000;

/** The fields of a definition that are used here; the rest is sent unchanged. */
export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly plural: string;
    };
    readonly versions: readonly { readonly name: string }[];
  };
}

/** Creates the definitions; returns each as stored, once it is served. */
export async function installCrds(
  client: KubeClient,
  definitions: readonly Definition[],
): Promise<KubeAnswer['body'][]> {
  for (const definition of definitions) {
    const created = await client.call('POST', `${DEFINITIONS}?fieldValidation=Strict`, definition);
    if (created.status !== 201) throw new Error(`${definition.metadata.name}: ${created.body.message}`);
  }
  return Promise.all(definitions.map((definition) => untilServed(client, definition)));
}

async function untilServed(client: KubeClient, { metadata, spec }: Definition): Promise<KubeAnswer['body']> {
  const list = `/apis/${spec.group}/${spec.versions[0]?.name}/${spec.names.plural}`;
  const deadline = Date.now() + ESTABLISHED_WITHIN_MS;
  while (Date.now() < deadline) {
    const [definition, listed] = await Promise.all([
      client.call('GET', `${DEFINITIONS}/${metadata.name}`),
      client.call('GET', list),
    ]);
    if (isEstablished(definition.body) && listed.status === 200) return definition.body;
    await delay(POLL_MS);
  }
  throw new Error(`${metadata.name} was not served within ${ESTABLISHED_WITHIN_MS / 1000} s`);
}

function isEstablished(definition: KubeAnswer['body']): boolean {
  const conditions: readonly { type: string; status: string }[] = definition.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}

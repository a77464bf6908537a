/** A draining gateway serves existing connections, and applies configuration until its last call has ended. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { gate } from '../../support/mock-provider.ts';
import { insertAt } from '../../support/provider-answers.ts';
import { ask } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import type { GatewayProcess } from '../../support/api/process.ts';
import { answerNumbered, createScene, keyOf, numberedCall, sharedKeys } from '../../support/api/scene.ts';
import type { Scene } from '../../support/api/scene.ts';

const STREAM = numberedCall(0);
const WHOLE = numberedCall(1);

let scene: Scene;
beforeAll(async () => {
  scene = await createScene({ keys: [{ name: 'one' }, { name: 'two' }], creditUsd: '100' });
});
afterAll(() => scene.remove());
afterEach(() => scene.provider.clear());

/** The status of a call on the agent's connection. */
async function statusOf(gateway: GatewayProcess, agent: Agent, key: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const asked = request(`${gateway.url}${WHOLE.path}`, { method: 'POST', agent, headers }, (response) => {
    response.resume().once('end', () => resolve(response.statusCode));
  });
  asked.once('error', reject).end(JSON.stringify(WHOLE.body));
  return promise;
}

async function generation(gateway: GatewayProcess): Promise<string | undefined> {
  const page = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  return /^modelgateway_config_generation (\S+)/m.exec(page)?.[1];
}

describe('a key that is disabled while the gateway drains', () => {
  it('is refused on existing connections', async () => {
    const gateway = await scene.home.start();
    const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    const waiting = gate();
    scene.provider.script((call, index) => insertAt(answerNumbered(call), 2, index === 2 ? waiting : ''));
    for (const agent of agents) assert.equal(await statusOf(gateway, agent, keyOf('two')), 200);
    const running = ask(gateway.url, { ...STREAM, key: keyOf('one') });
    await waiting.reached;
    gateway.signal('SIGTERM');
    await eventually('it drains', async () => (await fetch(`${gateway.adminUrl}/readyz`)).status === 503);
    const [first, second] = agents as [Agent, Agent];
    assert.equal(await statusOf(gateway, first, keyOf('two')), 200);
    const previous = await generation(gateway);
    await scene.home.write('keys.yaml', sharedKeys([{ name: 'one' }, { name: 'two', spec: 'enabled: false' }], '100'));
    await eventually('the edit is in force', async () => (await generation(gateway)) !== previous);
    assert.equal(await statusOf(gateway, second, keyOf('two')), 401);
    waiting.open();
    assert.equal((await running).status, 200);
    assert.equal(await gateway.exited, 0);
    for (const agent of agents) agent.destroy();
  });
});

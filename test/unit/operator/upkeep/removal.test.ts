/** Statuses are marked when the gateway's namespace is deleted, also if the API server refuses some at first. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { watchForRemoval } from '../../../../operator/upkeep/removal.ts';
import { retireObjects } from '../../../../operator/upkeep/retire.ts';
import { KubeError } from '#kube/errors.ts';
import { fakeClock, settled } from '../fake-clock.ts';

const OWN = 'model-gateway';
const READY = { type: 'Ready', status: 'True', reason: 'Ready', message: 'It does.', lastTransitionTime: 'then' };

/** An API server with Accounts, and no object of another kind. */
function serverWith(names: readonly string[]) {
  const state: { fails: (name: string) => boolean } = { fails: () => false };
  const objects = new Map(
    names.map((name) => [
      name,
      {
        metadata: { name, namespace: 'team-a', uid: name, resourceVersion: '1' },
        spec: { gatewayNamespace: OWN },
        status: { conditions: [READY] },
      },
    ]),
  );
  return {
    state,
    marked: () =>
      [...objects.values()]
        .filter(({ status }) => status.conditions[0]?.reason === 'GatewayRemoved')
        .map(({ metadata }) => metadata.name),
    async request({ method, path, body }: { method: string; path: string; body?: unknown }): Promise<never> {
      if (method === 'GET')
        return { metadata: {}, items: path.includes('/accounts') ? [...objects.values()] : [] } as never;
      const { metadata, status } = body as { metadata: { name: string }; status: { conditions: [typeof READY] } };
      if (state.fails(metadata.name)) throw new KubeError(`accounts ${metadata.name}: 500`, { status: 500 });
      const object = objects.get(metadata.name);
      if (object) objects.set(metadata.name, { ...object, status });
      return {} as never;
    },
  };
}

describe('the objects of a gateway that was removed', () => {
  it('are all marked but those that the API server refuses, and the first refusal is reported', async () => {
    const names = Array.from({ length: 40 }, (_, number) => `team-${number}`);
    const server = serverWith(names);
    server.state.fails = (name) => name === 'team-3' || name === 'team-30';
    const options = { client: server, gatewayNamespace: OWN, nowMs: 0 };
    await assert.rejects(retireObjects(options), /accounts team-3: 500/);
    assert.deepEqual(
      server.marked(),
      names.filter((name) => !server.state.fails(name)),
    );
    server.state.fails = () => false;
    assert.equal(await retireObjects(options), 2);
  });
});

describe('an operator whose own namespace is being deleted', () => {
  function operatorOn(server: ReturnType<typeof serverWith>) {
    const clock = fakeClock();
    const state = { isDue: true };
    const lines: string[] = [];
    const line = (fields: unknown, text?: string): void => {
      lines.push(`${JSON.stringify(fields)} ${text}`);
    };
    const removal = watchForRemoval({
      client: server,
      gatewayNamespace: OWN,
      clock,
      isDue: () => state.isDue,
      log: { info: line, warn: line },
    });
    return { clock, state, lines, removal };
  }

  it('marks the statuses once', async () => {
    const { clock, lines, removal } = operatorOn(serverWith(['team']));
    removal.check();
    removal.check();
    await clock.pass(60_000);
    removal.check();
    await removal.stop();
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /"statuses":1/);
  });

  it('tries again if some could not be marked, for as long as it leads', async () => {
    const server = serverWith(['team', 'other']);
    const { clock, state, lines, removal } = operatorOn(server);
    server.state.fails = (name) => name === 'team';
    removal.check();
    await settled();
    removal.check(); // resources change all the time
    await settled();
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /accounts team: 500.*retrying/);
    state.isDue = false;
    server.state.fails = () => false;
    await clock.pass(10_000);
    assert.deepEqual(server.marked(), ['other']);
    state.isDue = true;
    removal.check();
    await clock.pass(10_000);
    assert.deepEqual(server.marked(), ['team', 'other']);
    await removal.stop();
  });

  it('tries it by itself, until it is stopped', async () => {
    const server = serverWith(['team']);
    const { clock, lines, removal } = operatorOn(server);
    server.state.fails = () => true;
    removal.check();
    await clock.pass(20_000);
    assert.equal(lines.length, 3);
    await removal.stop();
    removal.check();
    await clock.pass(20_000);
    assert.equal(lines.length, 3);
  });
});

/** Sessions in which one end does what no hold expects: ids that repeat, ends that are late, clients that do not read. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { usage } from '../../../../support/realtime-provider.ts';
import { begun, created, done, failure, INPUT, openRig, OUTPUT, settled } from './session-rig.ts';
import type { Event, Rig } from './session-rig.ts';

const ASK = { type: 'response.create' };
const text = (id: string, delta: string): Event => ({ type: 'response.output_text.delta', response_id: id, delta });

async function opened(options: Parameters<typeof openRig>[0] = {}, more: object = {}): Promise<Rig> {
  const rig = openRig(options);
  rig.provider.push(created(more));
  await settled();
  return rig;
}

describe('events of a client', () => {
  it('have ids of the gateway, so that an error about one drops no response', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(
      { type: 'conversation.item.delete', item_id: 'nothing', event_id: 'x' },
      { ...ASK, event_id: 'x', response: { conversation: 'none' } },
      { ...ASK, event_id: 'y', response: { conversation: 'none', max_output_tokens: 1 } },
    );
    await settled();
    assert.deepEqual(
      provider.ofType('response.create').map((event) => String(event['event_id']).startsWith('mgw_')),
      [true, true],
    );
    provider.push(failure('x'), begun('r1'), done('r1', usage(1000, 4000)));
    await settled();
    assert.equal(rig.progress().costNanoUsd, 1000n * INPUT + 4000n * OUTPUT);
    assert.equal(rig.session.bill.asked, 1);
    provider.push(failure(provider.ofType('response.create')[1]?.['event_id']));
    await settled();
    assert.equal(rig.session.bill.asked, 0);
    assert.deepEqual(
      client.ofType('error').map((event) => (event['error'] as Event)['event_id']),
      ['x', 'y'],
    );
    await rig.end();
  });

  it('may not have ids of the gateway, or ids without bounds', async () => {
    const rig = await opened();
    rig.client.push({ ...ASK, event_id: 'mgw_1' }, { ...ASK, event_id: 'x'.repeat(513) });
    await settled();
    assert.equal(rig.client.ofType('error').length, 2);
    assert.equal(rig.provider.ofType('response.create').length, 0);
    await rig.end();
  });

  it('that are refused without their ids are waited for no longer, and held for a while', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(ASK);
    await settled();
    const held = rig.heldNanoUsd();
    provider.push(failure(null));
    await settled();
    assert.equal(rig.session.bill.asked, 0);
    assert.equal(rig.session.bill.neededNanoUsd, held);
    rig.session.drain();
    assert.equal((await rig.running).end.kind, 'Draining');
    rig.session.bill.giveUp(performance.now() + 6000);
    assert.equal(rig.session.bill.neededNanoUsd, 0n);
  });

  it('that are in doubt may still begin', async () => {
    const rig = await opened();
    rig.client.push(ASK);
    await settled();
    rig.provider.push(failure(null), begun('r1'));
    await settled();
    assert.deepEqual(rig.session.bill.giveUp(performance.now() + 6000), []);
    assert.deepEqual(rig.session.bill.running, ['r1']);
    rig.provider.push(done('r1', usage(10, 5)));
    await settled();
    assert.equal((await rig.end()).costNanoUsd, 10n * INPUT + 5n * OUTPUT);
  });
});

describe("the model's limit of output", () => {
  it('is sent to the provider in every event that names a higher one', async () => {
    const rig = await opened({ maxOutputTokens: 1000 });
    const { client, provider } = rig;
    for (const max_output_tokens of ['inf', 4096, 500]) {
      client.push({ type: 'session.update', session: { type: 'realtime', max_output_tokens } });
      client.push({ ...ASK, response: { max_output_tokens } });
    }
    await settled();
    const limitsOf = (type: string, name: string): unknown[] =>
      provider.ofType(type).map((event) => (event[name] as Event)['max_output_tokens']);
    assert.deepEqual(limitsOf('response.create', 'response'), [1000, 1000, 500]);
    // the first one is the gateway's own, because the session has begun with a higher limit
    assert.deepEqual(limitsOf('session.update', 'session'), [1000, 1000, 1000, 500]);
    await rig.end();
  });

  it("is sent by an event of the gateway's own, of which the client hears nothing", async () => {
    for (const refuses of [true, false]) {
      const rig = await opened({}, { max_output_tokens: 'inf' });
      const { client, provider } = rig;
      const [own] = provider.ofType('session.update');
      assert.deepEqual(own?.['session'], { type: 'realtime', max_output_tokens: 4096 });
      client.push({ type: 'session.update', session: { type: 'realtime', instructions: 'be kind' } });
      await settled();
      provider.push(refuses ? failure(own['event_id']) : { ...created(), type: 'session.updated' });
      provider.push({ ...created({ instructions: 'be kind' }), type: 'session.updated' });
      await settled();
      assert.deepEqual(
        client.sent.map((event) => event['type']),
        ['session.created', 'session.updated'],
      );
      await rig.end();
    }
  });

  it('leaves what the client has asked for before the session was created', async () => {
    const rig = openRig();
    rig.client.push({ type: 'session.update', session: { type: 'realtime', max_output_tokens: 100 } });
    await settled();
    rig.provider.push(created({ max_output_tokens: 'inf' }));
    await settled();
    assert.deepEqual(
      rig.provider.ofType('session.update').map((event) => (event['session'] as Event)['max_output_tokens']),
      [100, 100],
    );
    await rig.end();
  });
});

describe('the times of a response', () => {
  it('are reported once it has ended, from its beginning and its first output', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(ASK, ASK);
    await settled();
    rig.pass(10_000);
    provider.push(begun('r1'));
    await settled();
    rig.pass(2000);
    provider.push(text('r1', 'x'));
    await settled();
    rig.pass(3000);
    provider.push(text('r1', 'y'), done('r1', usage(10, 5)), done('r1', usage(10, 5)));
    provider.push(begun('r2'), done('r2', usage(10, 0)));
    await settled();
    const [first, second, ...others] = rig.responded;
    assert.deepEqual([first?.model, first?.protocol, first?.outputTokens], ['talker', 'OpenAI', 5]);
    const { firstOutputMs = 0, durationMs = 0 } = first ?? {};
    assert.ok(firstOutputMs >= 2000 && firstOutputMs < durationMs - 2999, `${firstOutputMs} of ${durationMs}`);
    assert.deepEqual([second?.firstOutputMs, second?.outputTokens, others], [undefined, 0, []]);
    await rig.end();
  });
});

describe('the end of a session', () => {
  it('by money that ends at the provider is billed by the figures of what it cancels', async () => {
    const vad = { audio: { input: { turn_detection: { type: 'server_vad' } } } };
    const rig = await opened({ limitNanoUsd: 150_000_000n }, vad);
    const { client, provider } = rig;
    provider.onSend = (event) => {
      if (event['type'] === 'response.cancel')
        setTimeout(() => provider.push(done('r1', usage(20_000, 200), 'cancelled')), 50);
    };
    provider.push(begun('r1'));
    const { end } = await rig.running;
    assert.equal(end.kind === 'Ended' && end.error.code, 'insufficient_quota');
    const { costNanoUsd, usageSource } = rig.progress();
    assert.deepEqual([costNanoUsd, usageSource], [20_000n * INPUT + 200n * OUTPUT, 'Provider']);
    assert.deepEqual(
      client.sent.map((event) => event['type']),
      ['session.created', 'response.created', 'response.done'],
    );
    assert.deepEqual(rig.defects, []);
  });

  it('by money that ends at the client is told the end of what it cancels, of which an error drops nothing', async () => {
    const rig = await opened({ limitNanoUsd: 80_000_000n });
    const { client, provider } = rig;
    client.push(ASK);
    await settled();
    provider.push(begun('r1'));
    await settled();
    provider.onSend = (event) => {
      if (event['type'] === 'response.cancel')
        provider.push(failure(event['event_id']), done('r1', usage(20, 10), 'cancelled'));
    };
    client.push(ASK);
    const { end } = await rig.running;
    assert.equal(end.kind === 'Ended' && end.error.code, 'insufficient_quota');
    assert.equal(rig.progress().costNanoUsd, 20n * INPUT + 10n * OUTPUT);
    assert.equal(provider.ofType('response.create').length, 1);
    assert.equal(client.sent.at(-1)?.['type'], 'response.done');
  });

  it('bills no response twice, however late and often its end comes', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(ASK, ASK);
    await settled();
    provider.push(begun('r1'), done('r1', usage(10, 5)), done('r1', usage(10, 5)), begun('r1'), begun('r2'));
    provider.push(text('r2', 'y'.repeat(400)));
    await settled();
    assert.deepEqual(rig.session.bill.running, ['r2']);
    const { output } = rig.progress().tokens;
    assert.equal(output, 105);
    provider.onSend = (event) => {
      if (event['type'] === 'response.cancel') setTimeout(() => provider.push(done('r2', usage(10, 100))), 2200);
    };
    client.leave(1000);
    await rig.running;
    const { costNanoUsd } = rig.progress();
    await sleep(500);
    assert.equal(rig.session.bill.end('r2', undefined), undefined);
    assert.deepEqual([rig.progress().costNanoUsd, rig.progress().tokens.output], [costNanoUsd, 105]);
  });

  it('by a message of the client that is too large has that error', async () => {
    const rig = await opened();
    rig.client.leave(1009);
    const { end } = await rig.running;
    assert.equal(end.kind === 'Ended' && end.error.code, 'request_too_large');
  });

  it('by a client that stops reading is no silence of the provider', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(ASK);
    await settled();
    provider.push(begun('r1'));
    await settled();
    client.isStalled = true;
    provider.push(text('r1', 'x'), text('r1', 'y'), done('r1', usage(500, 4000)));
    await settled();
    const sent = client.sent.length;
    rig.pass(61_000);
    const { end, isResponding } = await rig.running;
    assert.deepEqual([end.kind, isResponding], ['ClientClosed', true]);
    const { costNanoUsd, usageSource } = rig.progress();
    assert.deepEqual([costNanoUsd, usageSource], [500n * INPUT + 4000n * OUTPUT, 'Provider']);
    assert.equal(client.sent.length, sent);
  });

  it('tells a client that does not read of an error for a while only', async () => {
    const rig = await opened();
    rig.client.isStalled = true;
    const { end } = await rig.end().then(() => rig.running);
    assert.equal(end.kind, 'ProviderClosed');
    const { GatewayError } = await import('../../../../../dataplane/errors.ts');
    const told = rig.session.tell(new GatewayError('upstream_error', 'It broke off.')).then(() => 'told');
    assert.equal(await Promise.race([told, sleep(3000).then(() => 'waiting')]), 'told');
  });
});

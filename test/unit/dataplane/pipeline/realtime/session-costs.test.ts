/** What sessions hold and bill where figures are missing, for second models, and for responses that read one another. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { usage } from '../../../../support/realtime-provider.ts';
import { begun, created, done, INPUT, openRig, OUTPUT, settled } from './session-rig.ts';
import type { Event, Rig } from './session-rig.ts';

const ASK = { type: 'response.create' };
const MINUTE_NANO_USD = 6_000_000n;
const TOKENS_OF_SETTINGS = 4096n;

const transcribe = (transcription: object | null): Event => ({
  type: 'session.update',
  session: { type: 'realtime', audio: { input: { transcription } } },
});
const confirmed = (transcription: object | null): Event => ({
  ...created({ audio: { input: { turn_detection: null, transcription } } }),
  type: 'session.updated',
});
const committed = (id: string): Event => ({ type: 'input_audio_buffer.committed', item_id: id });
const textDelta = (id: string, delta: string): Event => ({
  type: 'conversation.item.input_audio_transcription.delta',
  item_id: id,
  delta,
});
const written = (id: string, more: object = {}): Event => ({
  type: 'conversation.item.input_audio_transcription.completed',
  item_id: id,
  transcript: 'x'.repeat(400),
  ...more,
});

function append(seconds: number, bytesPerSecond = 48_000): Event {
  return { type: 'input_audio_buffer.append', audio: Buffer.alloc(seconds * bytesPerSecond).toString('base64') };
}

async function opened(more: object = {}): Promise<Rig> {
  const rig = openRig();
  rig.provider.push(created(more));
  await settled();
  return rig;
}

/** A session that drains while a minute of audio is transcribed. */
async function pendingAtDrain(): Promise<Rig> {
  const rig = await opened();
  rig.client.push(transcribe({ model: 'minutes' }), append(60));
  await settled();
  rig.provider.push(committed('i1'));
  await settled();
  rig.session.drain();
  await settled();
  assert.equal(rig.provider.closed, undefined);
  return rig;
}

describe('a transcription', () => {
  it("is billed by the figures of its price's own kind, or by its audio and its text", async () => {
    const tokens = { type: 'tokens', input_tokens: 700, output_tokens: 300 };
    const duration = { type: 'duration', seconds: 59 };
    const cases: readonly [model: string, used: object | undefined, costNanoUsd: bigint, source: string][] = [
      ['minutes', undefined, MINUTE_NANO_USD, 'Estimated'],
      ['minutes', tokens, MINUTE_NANO_USD, 'Estimated'],
      ['minutes', duration, (MINUTE_NANO_USD * 59n) / 60n, 'Provider'],
      ['writer', undefined, 600n * INPUT + 100n * OUTPUT, 'Estimated'],
      ['writer', tokens, 700n * INPUT + 300n * OUTPUT, 'Provider'],
      ['writer', duration, 590n * INPUT + 100n * OUTPUT, 'Estimated'],
      ['writer', { ...tokens, input_tokens: 0, output_tokens: 0 }, 600n * INPUT + 100n * OUTPUT, 'Estimated'],
      // a minute is held, and a second before it, with 50 tokens for each second and 1,024 for a template
      ['minutes', { type: 'duration', seconds: 61 }, (MINUTE_NANO_USD * 61n) / 60n, 'Provider'],
      ['minutes', { type: 'duration', seconds: 86_400 }, (MINUTE_NANO_USD * 61n) / 60n, 'Implausible'],
      ['writer', { type: 'duration', seconds: 86_400 }, 610n * INPUT + 100n * OUTPUT, 'Estimated'],
      ['writer', { ...tokens, input_tokens: 10 ** 6 }, 4074n * INPUT + 300n * OUTPUT, 'Implausible'],
      ['writer', { ...tokens, output_tokens: 10 ** 6 }, 700n * INPUT + 4074n * OUTPUT, 'Implausible'],
      ['flat', undefined, 1_000_000n, 'Provider'],
      ['flat', tokens, 1_000_000n, 'Provider'],
    ];
    for (const [model, used, costNanoUsd, source] of cases) {
      const rig = await opened();
      rig.client.push(transcribe({ model }), append(20), append(20), append(20));
      await settled();
      // the second one is of an item that was written down before
      rig.provider.push(committed('i1'), written('i1', { usage: used }), written('i1', { usage: used }));
      await settled();
      const progress = await rig.end();
      assert.deepEqual([progress.costNanoUsd, progress.usageSource], [costNanoUsd, source], `${model} ${source}`);
    }
  });

  it('that fails is free', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'minutes' }), append(20));
    await settled();
    const failed = { type: 'conversation.item.input_audio_transcription.failed', item_id: 'i1' };
    rig.provider.push(confirmed({ model: 'minutes' }), committed('i1'), failed);
    await settled();
    assert.equal((await rig.end()).costNanoUsd, 0n);
  });

  it('that has not come when the session ends is billed by its audio and the text so far', async () => {
    const delta = textDelta('i1', 'x'.repeat(400));
    const [atClient, atProvider] = ['client', 'provider'] as const;
    const cases: readonly [model: string, text: readonly Event[], end: 'client' | 'provider', costNanoUsd: bigint][] = [
      ['minutes', [], atClient, MINUTE_NANO_USD],
      ['flat', [], atClient, 1_000_000n],
      ['writer', [], atClient, 600n * INPUT],
      ['writer', [delta], atClient, 600n * INPUT + 100n * OUTPUT],
      // nothing has come of a provider that breaks off
      ['minutes', [], atProvider, 0n],
      ['writer', [delta], atProvider, 600n * INPUT + 100n * OUTPUT],
    ];
    for (const [model, text, end, costNanoUsd] of cases) {
      const rig = await opened();
      rig.client.push(transcribe({ model }), append(20), append(20), append(20));
      await settled();
      rig.provider.push(committed('i1'), ...text);
      await settled();
      const crashed = rig.progress();
      rig[end].leave(1006);
      await rig.running;
      const { costNanoUsd: billed, usageSource } = rig.progress();
      const seen = `${model} ${end} ${text.length}`;
      assert.deepEqual([billed, usageSource], [costNanoUsd, costNanoUsd > 0n ? 'Partial' : 'Provider'], seen);
      if (end === 'client')
        assert.deepEqual([crashed.costNanoUsd, crashed.usageSource], [costNanoUsd, 'Partial'], seen);
      assert.deepEqual(rig.defects, []);
    }
  });

  it('makes a session that its provider breaks off one that has brought something', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'writer' }), append(1));
    await settled();
    rig.provider.push(committed('i1'), textDelta('i1', 'x'));
    await settled();
    rig.provider.leave(1006);
    await rig.running;
    assert.deepEqual([rig.progress().costNanoUsd > 0n, rig.record.produced], [true, true]);
  });

  it('of many short pieces is held for the whole seconds that each is billed', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'minutes' }));
    for (let piece = 0; piece < 70; piece++) {
      rig.client.push(append(0.1));
      await settled();
      rig.provider.push(committed(`i${piece}`));
      await settled();
    }
    const held = rig.heldNanoUsd();
    rig.client.leave(1000);
    await rig.running;
    const { costNanoUsd } = rig.progress();
    assert.equal(costNanoUsd, (MINUTE_NANO_USD * 70n) / 60n);
    assert.ok(held >= costNanoUsd, `${held} of ${costNanoUsd}`);
  });

  it('that comes after its text so far is billed once, by its figures', async () => {
    const rig = await opened();
    const delta = textDelta('i1', 'x'.repeat(400));
    rig.client.push(transcribe({ model: 'writer' }), append(20));
    await settled();
    const usage = { type: 'tokens', input_tokens: 7, output_tokens: 3 };
    rig.provider.push(committed('i1'), delta, written('i1', { usage }));
    await settled();
    rig.client.leave(1000);
    await rig.running;
    const { costNanoUsd, usageSource } = rig.progress();
    assert.deepEqual([costNanoUsd, usageSource], [7n * INPUT + 3n * OUTPUT, 'Provider']);
  });

  it('whose piece is announced again is billed once', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'writer' }), append(20));
    await settled();
    const usage = { type: 'tokens', input_tokens: 7, output_tokens: 3 };
    rig.provider.push(committed('i1'), written('i1', { usage }));
    await settled();
    rig.client.push(append(20));
    await settled();
    rig.provider.push(committed('i1'));
    await settled();
    rig.client.leave(1000);
    await rig.running;
    assert.equal(rig.progress().costNanoUsd, 7n * INPUT + 3n * OUTPUT);
  });

  it('of pieces without an id is billed for the audio of all of them', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'minutes' }), append(60));
    await settled();
    rig.provider.push(committed(''));
    await settled();
    rig.client.push(append(60));
    await settled();
    rig.provider.push(committed(''));
    await settled();
    rig.client.leave(1000);
    await rig.running;
    assert.equal(rig.progress().costNanoUsd, 2n * MINUTE_NANO_USD);
  });

  it('is held for audio that was sent before its model was set', async () => {
    const rig = await opened();
    for (let count = 0; count < 10; count++) rig.client.push(append(60));
    rig.client.push(transcribe({ model: 'minutes' }));
    await settled();
    assert.equal(rig.heldNanoUsd(), 11n * MINUTE_NANO_USD + 2n);
    await rig.end();
  });

  it('is held with its prompt, and at its price, for each piece of audio', async () => {
    const rig = await opened();
    const model = { model: 'writer', prompt: 'p'.repeat(30_000) };
    rig.client.push(transcribe(model));
    await settled();
    const held = rig.heldNanoUsd();
    assert.ok(held >= 30_000n * (INPUT + OUTPUT), String(held));
    rig.provider.push(confirmed(model), committed('i1'));
    await settled();
    assert.ok(rig.heldNanoUsd() - held >= 30_000n * (INPUT + OUTPUT));
    await rig.end();
    const other = await opened();
    other.client.push(transcribe({ model: 'flat' }));
    await settled();
    other.provider.push(committed('i1'), committed('i2'));
    await settled();
    assert.equal(other.heldNanoUsd(), 3_000_002n);
    await other.end();
  });

  it('is held no longer once the provider makes none, and another model may make the next ones', async () => {
    const rig = await opened();
    const { client, provider } = rig;
    client.push(transcribe({ model: 'minutes' }), append(1));
    await settled();
    provider.push(confirmed({ model: 'minutes' }), committed('i1'));
    client.push(transcribe(null));
    await settled();
    client.push(transcribe({ model: 'writer' }));
    await settled();
    assert.equal(client.ofType('error').length, 1);
    assert.equal(rig.session.bill.neededNanoUsd, 2n * MINUTE_NANO_USD + 2n - MINUTE_NANO_USD);
    provider.push(confirmed(null), written('i1', { usage: { type: 'duration', seconds: 1 } }));
    await settled();
    assert.equal(rig.session.bill.neededNanoUsd, MINUTE_NANO_USD / 60n);
    client.push(transcribe({ model: 'writer' }));
    await settled();
    assert.equal(client.ofType('error').length, 1);
    await rig.end();
  });

  it('is waited for by a session that drains, and billed by its figures', async () => {
    for (const isFailed of [false, true]) {
      const rig = await pendingAtDrain();
      const failure = { type: 'conversation.item.input_audio_transcription.failed', item_id: 'i1', error: {} };
      rig.provider.push(isFailed ? failure : written('i1', { usage: { type: 'duration', seconds: 30 } }));
      assert.equal((await rig.running).end.kind, 'Draining');
      const { costNanoUsd, usageSource } = rig.progress();
      assert.deepEqual([costNanoUsd, usageSource], [isFailed ? 0n : MINUTE_NANO_USD / 2n, 'Provider']);
    }
  });

  it('of a silent provider is waited for by no drain, and billed by its audio', async () => {
    const rig = await pendingAtDrain();
    rig.pass(61_000);
    const { end, isResponding } = await rig.running;
    assert.deepEqual([end.kind, isResponding], ['Draining', false]);
    assert.deepEqual([rig.progress().costNanoUsd, rig.progress().usageSource], [MINUTE_NANO_USD, 'Partial']);
  });

  it('is billed by its figures if they come soon after the client has left', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'minutes' }), append(60));
    await settled();
    rig.provider.push(committed('i1'));
    await settled();
    rig.client.leave(1000);
    await settled();
    rig.provider.push(written('i1', { usage: { type: 'duration', seconds: 30 } }));
    const { isResponding } = await rig.running;
    assert.deepEqual([isResponding, rig.progress().costNanoUsd], [false, MINUTE_NANO_USD / 2n]);
  });

  it('by a model without a price of transcriptions is refused', async () => {
    const rig = await opened();
    rig.client.push(transcribe({ model: 'characters' }));
    await settled();
    const [error] = rig.client.ofType('error').map((event) => event['error'] as Event);
    assert.equal(error?.['code'], 'model_not_priced');
    await rig.end();
  });
});

describe('the cost for the platform', () => {
  it('is of what has ended, what runs and what is pending, as the bill is', async () => {
    const rig = openRig({ statesCosts: true });
    const assertEqual = (isFree: boolean): void => {
      const { costNanoUsd, upstreamCostNanoUsd } = rig.progress();
      assert.equal(upstreamCostNanoUsd, costNanoUsd);
      assert.equal(costNanoUsd === 0n, isFree);
    };
    rig.provider.push(created());
    await settled();
    assertEqual(true);
    rig.client.push(transcribe({ model: 'minutes' }), append(60), ASK);
    await settled();
    const delta = { type: 'response.output_text.delta', response_id: 'r1', delta: 'x'.repeat(400) };
    rig.provider.push(begun('r1'), delta);
    await settled();
    assertEqual(false);
    const running = rig.progress().costNanoUsd;
    rig.provider.push(committed('i1'));
    await settled();
    assertEqual(false);
    assert.equal(rig.progress().costNanoUsd, running + MINUTE_NANO_USD);
    rig.client.leave(1000);
    await rig.running;
    assertEqual(false);
    assert.equal(rig.progress().costNanoUsd, running + MINUTE_NANO_USD);
  });
});

describe('what is held for a response', () => {
  it('has the output of those that have not ended', async () => {
    const rig = await opened();
    rig.client.push(ASK);
    await settled();
    rig.provider.push(begun('r1'));
    await settled();
    rig.client.push({ ...ASK, response: { max_output_tokens: 1 } });
    await settled();
    rig.provider.push(done('r1', usage(100, 4096)));
    await settled();
    const left = rig.session.bill.neededNanoUsd - rig.progress().costNanoUsd;
    assert.ok(left >= (100n + 4096n) * INPUT + OUTPUT, String(left));
    await rig.end();
  });

  it('is the whole context where it reads an item of the conversation several times', async () => {
    const reference = { type: 'item_reference', id: 'i' };
    const context = 32_000n * INPUT;
    for (const [input, isWhole] of [
      [[reference, { ...reference, id: 'j' }], false],
      [[reference, reference], true],
    ] as const) {
      const rig = await opened();
      rig.client.push({ ...ASK, response: { conversation: 'none', input, max_output_tokens: 1 } });
      await settled();
      assert.equal(rig.session.bill.neededNanoUsd >= context, isWhole);
      await rig.end();
    }
  });

  it('is there before the provider begins one after silence', async () => {
    const turns = (more: object): object => ({
      audio: { input: { turn_detection: { type: 'server_vad', create_response: false, ...more } } },
    });
    for (const [more, beginsNone] of [
      [{}, true],
      [{ idle_timeout_ms: null }, true],
      [{ idle_timeout_ms: 5000 }, false],
      [{ create_response: null }, false],
    ] as const) {
      const rig = await opened(turns(more));
      assert.equal(rig.session.bill.neededNanoUsd === 0n, beginsNone, JSON.stringify(more));
      await rig.end();
    }
  });
});

describe('a response', () => {
  it('that fails without anything is free, and one that is cut off so is not', async () => {
    for (const [status, isFree] of [
      ['failed', true],
      ['cancelled', false],
    ] as const) {
      const rig = await opened();
      const content = [{ type: 'input_text', text: 'z'.repeat(40_000) }];
      rig.client.push({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }, ASK);
      await settled();
      rig.provider.push(begun('r1'), done('r1', null, status));
      await settled();
      const { costNanoUsd } = await rig.end();
      assert.equal(costNanoUsd === 0n, isFree, String(costNanoUsd));
    }
  });

  it('with figures of zero beside what it has brought is estimated', async () => {
    const rig = await opened();
    rig.client.push(ASK);
    await settled();
    const delta = { type: 'response.output_text.delta', response_id: 'r1', delta: 'x'.repeat(4000) };
    rig.provider.push(begun('r1'), delta, done('r1', usage(0, 0)));
    await settled();
    const { tokens, usageSource } = await rig.end();
    assert.deepEqual([tokens.output, usageSource], [1000, 'Estimated']);
    assert.ok(tokens.input > 0);
  });

  it('that is cut off keeps its tokens of limits by the minute', async () => {
    const rig = openRig({ isLimited: true });
    rig.provider.push(created());
    await settled();
    rig.client.push(ASK);
    await settled();
    rig.provider.push(begun('r1'), { type: 'response.output_text.delta', response_id: 'r1', delta: 'x'.repeat(400) });
    await settled();
    rig.client.leave(1000);
    await rig.running;
    assert.deepEqual(
      rig.released.map((event) => event['outputTokens']),
      [100],
    );
  });

  it('speaks as much as its own format says, whatever the format of what it hears', async () => {
    const audio = { input: { turn_detection: null, format: { type: 'audio/pcmu' } } };
    const rig = await opened({ audio });
    rig.client.push(append(10, 8000), ASK);
    await settled();
    assert.ok(rig.session.bill.neededNanoUsd >= (200n + TOKENS_OF_SETTINGS) * INPUT);
    const { audio: delta } = append(10);
    rig.provider.push(begun('r1'), { type: 'response.output_audio.delta', response_id: 'r1', delta });
    rig.provider.push(done('r1', undefined));
    await settled();
    assert.equal((await rig.end()).tokens.output, 200);
  });
});

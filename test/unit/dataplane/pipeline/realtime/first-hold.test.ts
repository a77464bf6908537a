/** The first hold of a session, which no output limit lowers: the provider is not sent one before it may respond. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { boundCall } from '../../../../../dataplane/pipeline/bounds.ts';
import { readSessionCall } from '../../../../../dataplane/pipeline/endpoints/realtime.ts';
import type { Received } from '../../../../../dataplane/pipeline/context.ts';
import type { Candidate, KeyState } from '../../../../../dataplane/state/state.ts';
import { BY_TOKEN, INPUT, OUTPUT } from './session-rig.ts';

it('is whole for a key whose calls are lowered when money is short', async () => {
  const call = await readSessionCall(new URLSearchParams('model=talker'))({} as Received);
  const candidate = {
    target: { id: 'c', protocol: 'OpenAI' },
    model: { name: 'talker', contextTokens: 32_000, maxOutputTokens: 4096, imageTokens: 1000, allow: new Set() },
    priceOf: () => undefined,
  } as unknown as Candidate;
  const key = { whenShort: 'Lower', minOutputTokens: 1 } as KeyState;
  const { amountNanoUsd, minimumNanoUsd } = boundCall(call, candidate, BY_TOKEN, key);
  assert.equal(amountNanoUsd, 4096n * INPUT + 4096n * OUTPUT);
  assert.equal(minimumNanoUsd, amountNanoUsd);
});

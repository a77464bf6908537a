/** What the status of a ModelRoute counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import { REFUSAL_LASTS_MS } from '../../../../operator/status/refusals.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const ID = `ModelRoute ${GATEWAY_NAMESPACE}/openai`;

const channel = (name: string, more = ''): string =>
  `    - {name: ${name}, protocol: OpenAI, baseUrl: "https://${name}.test/v1"${more}}\n`;

/** A route with a channel that is drained, one whose Secret is missing, and three that may serve. */
const route = (drained = '[drained]'): string => `apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt, contextTokens: 10, maxOutputTokens: 5}]
  drainedChannels: ${drained}
  channels:
${['main', 'second', 'third', 'drained'].map((name) => channel(name)).join('')}${channel(
  'keyless',
  ', auth: {type: ApiKey, secretRef: {name: nowhere}}',
)}`;

describe('CHANNELS counts usable ones', () => {
  function scene(manifest = route()) {
    const changed: string[] = [];
    const tracker = createStatusTracker((id) => changed.push(id));
    const observe = (text: string): void => {
      const { statuses } = translate(resourcesOf(text), {
        gatewayNamespace: GATEWAY_NAMESPACE,
        nowMs: NOW_MS,
        sealingKeys: [],
      });
      tracker.observe(statuses, NOW_MS);
    };
    observe(manifest);
    const channels = (): number | undefined => tracker.get(ID)?.status.channels;
    return { tracker, changed, channels, observe };
  }

  it('with a credential, and not drained', () => {
    assert.equal(scene().channels(), 3);
    assert.equal(scene(route('[main, second, third, drained]')).channels(), 0);
  });

  it('without those whose provider answers 401, 402 or 403, until they are in order again', () => {
    for (const status of [401, 402, 403]) {
      const { tracker, changed, channels } = scene();
      changed.length = 0;
      tracker.refused(ID, { channel: 'main', status, atMs: NOW_MS });
      assert.equal(channels(), 2);
      assert.deepEqual(changed, [ID], 'the status is written');
      tracker.refused(ID, { channel: 'main', status, atMs: NOW_MS + 1 });
      tracker.refused(ID, { channel: 'drained', status, atMs: NOW_MS + 1 });
      assert.equal(channels(), 2, 'each is counted once');
      tracker.refused(ID, { channel: 'third', status, atMs: NOW_MS + 2 });
      assert.equal(channels(), 1);
      tracker.refused(ID, { channel: 'main', status: 0, recovered: true, atMs: NOW_MS + 3 });
      assert.equal(channels(), 2);
      tracker.expire(NOW_MS + 2 + REFUSAL_LASTS_MS);
      assert.equal(channels(), 3);
    }
  });

  it('with those that refuse a model or an address, or cannot be reached at the moment', () => {
    const { tracker, channels } = scene();
    tracker.refused(ID, { channel: 'main', status: 404, atMs: NOW_MS });
    tracker.refused(ID, { channel: 'second', status: 0, connectError: 'ECONNREFUSED', atMs: NOW_MS });
    assert.equal(channels(), 3);
  });
});

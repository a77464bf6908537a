/** The settings of all sidecars: valid ones, and the errors of others. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { parseSidecarSettings, SettingsFault } from '../../../../operator/webhook/settings.ts';

const DEFAULTS = { fleet: 'https://model-gateway-tls.model-gateway.svc' };

describe('sidecar settings', () => {
  it('require only an image', () => {
    const { image, fleet, logLevel, ipv6, env, imagePullPolicy, securityContext } = parseSidecarSettings(
      '{"image": "a/b:1"}',
      DEFAULTS,
    );
    assert.deepEqual(
      [image, fleet, logLevel, ipv6, env, imagePullPolicy, securityContext['runAsNonRoot']],
      ['a/b:1', DEFAULTS.fleet, 'warn', false, [], undefined, true],
    );
  });

  it('are used unchanged', () => {
    const given = {
      image: 'a',
      imagePullPolicy: 'Never',
      fleet: 'https://llm.example.com',
      logLevel: 'debug',
      ipv6: true,
      resources: {},
      securityContext: {},
      env: [{ name: 'A', value: 'b' }],
    };
    assert.deepEqual(parseSidecarSettings(JSON.stringify(given), DEFAULTS), given);
  });

  for (const [text, words] of [
    ['', /must be a JSON object/],
    ['[]', /must be a JSON object/],
    ['{}', /image is required/],
    ['{"image": ""}', /image must be/],
    ['{"image": "a b"}', /image must be/],
    ['{"image": "a", "imagePullPolicy": "Often"}', /one of Always/],
    ['{"image": "a", "fleet": "http://plain"}', /fleet must be an https URL/],
    ['{"image": "a", "logLevel": "loud"}', /logLevel must be one of/],
    ['{"image": "a", "ipv6": "yes"}', /ipv6 must be/],
    ['{"image": "a", "resources": []}', /resources must be/],
    ['{"image": "a", "env": [{}]}', /env must be/],
    ['{"image": "a", "replicas": 1}', /unknown setting replicas/],
    ['{"image": "a", "toString": 1}', /unknown setting toString/],
  ] as const)
    it(`refuse ${text}`, () =>
      assert.throws(
        () => parseSidecarSettings(text, DEFAULTS),
        (error) => error instanceof SettingsFault && words.test(error.message),
      ));
});

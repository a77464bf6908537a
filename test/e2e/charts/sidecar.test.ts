/**
 * The parts of the sidecar's installation fit together: the operator's arguments, the webhook's address, and the
 * address that pods call.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { parseSidecarSettings } from '../../../operator/webhook/settings.ts';
import { needHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { NAMESPACE, podTemplates, readSituations, renderAll } from './situations.ts';

const helm = await needHelm();
const situations = (await readSituations()).filter(({ name }) => name.startsWith('sidecar'));

/** The value after a flag. */
function told(container: Rendered, flag: string): string {
  const value = container.args[container.args.indexOf(flag) + 1];
  assert.ok(container.args.includes(flag) && typeof value === 'string', flag);
  return value;
}

describe.skipIf(helm.skip)("the sidecar's chart", () => {
  assert.ok(situations.length >= 2);
  for (const situation of situations)
    it(situation.name, async () => {
      const objects = await renderAll(helm, situation);
      const find = (kind: string, name: string): Rendered =>
        objects.find((object) => object.kind === kind && object.metadata.name === name) ??
        assert.fail(`no ${kind} ${name}`);
      const container = (name: string): Rendered =>
        podTemplates(objects)
          .map(({ template }) => template.spec.containers[0])
          .find((each) => each.name === name);
      const [operator, dataplane] = [container('operator'), container('dataplane')];

      const {
        webhooks: [webhook],
      } = find('MutatingWebhookConfiguration', told(operator, '--webhook-configuration'));
      const { service } = webhook.clientConfig;
      assert.equal(told(operator, '--webhook-name'), `${service.name}.${NAMESPACE}.svc`);
      assert.equal(
        told(operator, '--webhook-listen').split(':').at(-1),
        String(portOf(operator, find('Service', service.name))),
      );
      assert.equal(webhook.clientConfig.caBundle, undefined);
      const [excluded] = webhook.namespaceSelector.matchExpressions;
      assert.deepEqual(
        [excluded.operator, excluded.values.includes('kube-system'), excluded.values.includes(NAMESPACE)],
        ['NotIn', true, true],
      );
      assert.deepEqual(webhook.objectSelector, { matchLabels: { 'modelgateway.dev/inject': 'true' } });

      const { fleet, image, env } = parseSidecarSettings(told(operator, '--sidecar-settings').replaceAll('$$(', '$('), {
        fleet: '',
      });
      assert.equal(image, operator.image);
      assert.ok(env.every(({ value = '' }) => !value.includes('$$')));
      const [, host = ''] = /^https:\/\/([^.]+)\.model-gateway\.svc$/.exec(fleet) ?? [];
      assert.equal(told(dataplane, '--tls-listen').split(':').at(-1), String(portOf(dataplane, find('Service', host))));
      const pod = podTemplates(objects).find(({ template }) => template.spec.containers[0].name === 'dataplane')
        ?.template.spec;
      const { mountPath, name } = dataplane.volumeMounts.find(
        (each: Rendered) => each.mountPath === told(dataplane, '--tls'),
      );
      assert.ok(mountPath);
      const { secret } = pod.volumes.find((each: Rendered) => each.name === name);
      assert.deepEqual(secret.items, [
        { key: 'servingCertificate', path: 'tls.crt' },
        { key: 'servingKey', path: 'tls.key' },
      ]);
    });
});

/** The container port that a Service's only port leads to. */
function portOf(container: Rendered, service: Rendered): number {
  return container.ports.find((each: Rendered) => each.name === service.spec.ports[0].targetPort).containerPort;
}

/** `mgw validate`: the errors that the API server and the operator would report, each at the line of its object. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import type { TestContext } from 'vitest';
import { validateFolder } from '../../../../operator/reconcile/validate-folder.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { GATEWAY_NAMESPACE, NOW_MS, platformManifest, temporaryFolder } from '../support.ts';

async function validate(t: TestContext, files: Readonly<Record<string, string>>): Promise<readonly Diagnostic[]> {
  const folder = await temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const problems = await validateFolder(folder, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
  return problems.map((problem) => ({ ...problem, file: problem.file.slice(folder.length + 1) }));
}

const brief = (problems: readonly Diagnostic[]) =>
  problems.map(({ severity, file, line, object, message }) => `${severity} ${file}:${line} ${object ?? ''} ${message}`);

const PLATFORM = platformManifest('auth: {type: ApiKey, secretRef: {name: openai}}');
const key = (name: string, spec = '') =>
  `---\napiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ` +
  `${name}, namespace: team}\nspec: {groupRef: {name: main}, accountRef: {name: team}${spec}}\n`;
const ACCOUNT =
  'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: team, namespace: team}\nspec: {}\n';

test('warns of a missing Secret, since Secrets may be elsewhere', async (t) => {
  const problems = await validate(t, {
    'a-platform.yaml': PLATFORM,
    'b-team.yaml': ACCOUNT + key('generated') + key('provided', ', key: {type: Provided}'),
  });
  assert.deepEqual(brief(problems), [
    'Warning a-platform.yaml:6 ModelRoute model-gateway/openai Channel "direct" is ignored: the Secret "openai" ' +
      'does not exist in model-gateway. No channel is left.',
    'Warning b-team.yaml:11 ApiKey team/provided Waiting for the Secret "provided-key" with the key in its entry ' +
      '"apiKey"; in a cluster the Secret also needs the label modelgateway.dev/api-key: provided.',
  ]);
});

test('accepts a folder with its Secrets', async (t) => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: openai}\nstringData: {apiKey: x}\n';
  assert.deepEqual(
    await validate(t, { 'a.yaml': PLATFORM, 'b.yaml': ACCOUNT + key('generated'), 'c.yaml': secret }),
    [],
  );
});

test("reports a price for another endpoint than the model's", async (t) => {
  const manifests = `apiVersion: v1
kind: Secret
metadata: {name: openai}
stringData: {apiKey: x}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: media}
spec:
  models: [{name: picture, endpoints: [Images]}, {name: film, endpoints: [Videos]}]
  channels: [{name: a, protocol: OpenAI, baseUrl: "https://a.example/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: media}
spec:
  models:
  - {name: picture, vendor: A, quotaType: Request, perSecondUsd: "0.1"}
  - {name: film, vendor: A, quotaType: Request, perSecondUsd: "0.1"}
`;
  assert.deepEqual(brief(await validate(t, { 'a.yaml': manifests })), [
    'Warning a.yaml:13 PriceCatalog model-gateway/media perSecondUsd of model "picture" has no effect: ' +
      'no route has Videos in its endpoints',
  ]);
});

test('refuses a price per character, and names the field of a million', async (t) => {
  const problems = await validate(t, {
    'a.yaml': `apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: speech}
spec:
  models: [{name: tts, vendor: A, quotaType: Request, perCharacterUsd: "0.00001"}]
`,
  });
  const { severity, path, message = '' } = problems.at(-1) ?? {};
  assert.deepEqual([severity, path], ['Error', 'spec.models[0].perCharacterUsd']);
  assert.match(message, /write perMillionCharactersUsd/);
});

test('accepts a key that its owner disables or lets expire', async (t) => {
  const secret =
    'apiVersion: v1\nkind: Secret\nmetadata: {name: openai}\nstringData: {apiKey: x}\n---\napiVersion: v1\nkind: ' +
    'Secret\nmetadata: {name: b-key, namespace: team}\nstringData: {apiKey: sk-00000000000000000000000000000000}\n';
  const problems = await validate(t, {
    'a.yaml': PLATFORM,
    'b.yaml':
      ACCOUNT +
      key('a', ', enabled: false') +
      key('b', ', key: {type: Provided}, expirationTime: "2020-01-01T00:00:00Z"'),
    'c.yaml': secret,
  });
  assert.deepEqual(
    problems.map(({ severity, object }) => [severity, object]),
    [['Warning', 'ApiKey team/b']],
  );
});

test('reports wrong references, conflicts and wrong namespaces as errors', async (t) => {
  const problems = await validate(t, {
    'a.yaml': PLATFORM,
    'b.yaml':
      key('no-account').slice(4) +
      key('no-group', ', groupRef: {name: nowhere}').replace('groupRef: {name: main}, ', '') +
      key('typo', ', models: [gtp]'),
    'c.yaml': `apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: narrow}
spec: {routes: [{routeRef: {name: nowhere}}, {routeRef: {name: openai}, models: [gtp], channels: [drect]}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, members: [{name: ghost}, {name: main}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: zweite}
spec: {models: [{name: gpt, vendor: Acme, quotaType: Token, modelRatio: "1"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: lost, namespace: team}
spec: {routes: [{routeSelector: {}}]}
`,
  });
  const errors = problems
    .filter(({ severity }) => severity === 'Error')
    .map(({ file, line, object, message }) => `${file}:${line} ${object}: ${message}`);
  const expected = [
    /^b\.yaml:1 ApiKey team\/no-account: The Account "team" does not exist/,
    /^b\.yaml:6 ApiKey team\/no-group: The Group "nowhere" does not exist\. There is "main"\. The Account "team"/,
    /^b\.yaml:11 ApiKey team\/typo: The Account "team" does not exist/,
    /^b\.yaml:11 ApiKey team\/typo: The Group "main" has no model "gtp"/,
    /^c\.yaml:1 Group model-gateway\/narrow: .*"nowhere" does not exist.*model "gtp".*channel "drect"/,
    /^c\.yaml:6 Group model-gateway\/smart: The member "ghost" does not exist/,
    /^c\.yaml:11 PriceCatalog model-gateway\/zweite: The PriceCatalog model-gateway\/acme takes precedence/,
    /^c\.yaml:16 Group team\/lost: .*"model-gateway"/,
  ];
  assert.equal(errors.length, expected.length, errors.join('\n'));
  expected.forEach((pattern, index) => assert.match(errors[index] ?? '', pattern));
});

test('does not report consequences of mistakes in other manifests', async (t) => {
  const problems = await validate(t, {
    'a.yaml': PLATFORM.replace('priceRatio', 'x').replace('allowedNamespaces', 'allowdNamespaces'),
    'b.yaml': ACCOUNT + key('ci'),
  });
  assert.deepEqual(brief(problems), ['Error a.yaml:4 Group model-gateway/main unknown field']);
});

test('reports a weak key and a duplicate one as errors', async (t) => {
  const secret = (name: string, value: string) =>
    `---\napiVersion: v1\nkind: Secret\nmetadata: {name: ${name}-key, ` +
    `namespace: team}\nstringData: {apiKey: ${value}}\n`;
  const strong = 'sk-0000000000000000000000000000000000';
  const provided = ', key: {type: Provided}';
  const problems = await validate(t, {
    'a.yaml': PLATFORM,
    'b.yaml':
      ACCOUNT +
      key('weak', provided) +
      secret('weak', 'sk-short') +
      key('x', provided) +
      secret('x', strong) +
      key('z', provided) +
      secret('z', strong),
  });
  const errors = problems.filter(({ severity }) => severity === 'Error');
  assert.deepEqual(
    errors.map(({ object }) => object),
    ['ApiKey team/weak', 'ApiKey team/z'],
  );
  assert.match(errors[0]?.message ?? '', /8 characters; at least 32/);
  assert.match(errors[1]?.message ?? '', /team\/x has the same key/);
});

test('reports a path that is not a folder', async () => {
  const [problem] = await validateFolder('/nowhere/at/all', { gatewayNamespace: GATEWAY_NAMESPACE });
  assert.deepEqual([problem?.severity, problem?.file, problem?.line], ['Error', '/nowhere/at/all', 0]);
});

test('warns of a folder without objects, and of what is left out', async (t) => {
  assert.deepEqual(brief(await validate(t, {})), ['Warning :0  the folder has no objects']);
  assert.deepEqual(brief(await validate(t, { 'a.yaml': 'kind: [\n' })).length, 1, 'only the mistake is reported');
  assert.deepEqual(brief(await validate(t, { 'kustomization.yaml': 'resources: []\n', 'empty.yaml': '' })), [
    'Warning :0  the folder has no objects',
    'Warning kustomization.yaml:1  ignored: only kustomize reads this file; its patches and generators are not applied here',
  ]);
});

/**
 * The script of docs/tutorials/kind.md, with stand-ins for docker, kind, kubectl, helm and curl that record how they are
 * called: no Docker is needed. The node's suite installs the same charts and makes the same call.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { lintShell, needShellCheck } from '../../support/pip-program.ts';
import { ROOT } from './situations.ts';

const SCRIPT = join(ROOT, 'docs/examples/kind/try.sh');
const shellcheck = await needShellCheck();
const NOTES = `NOTES:
Model Gateway is being installed.

kubectl wait --for condition=Available deployment/model-gateway
kubectl get configmap model-gateway-demo -o jsonpath='{.data.manifests}' | kubectl apply -f -
kubectl port-forward --namespace model-gateway service/model-gateway 8080:80 &
curl --silent http://127.0.0.1:8080/v1/chat/completions
`;

describe('the script for kind', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-kind-'));
    await writeFile(join(folder, 'notes'), NOTES);
    await writeFile(join(folder, 'clusters'), 'other\nmodel-gateway-2\n');
    for (const program of ['docker', 'kind', 'kubectl', 'helm', 'curl']) await standIn(program);
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function standIn(program: string, more = ''): Promise<void> {
    const path = join(folder, program);
    await writeFile(
      path,
      `#!/bin/bash
echo "${program} $*" >> "${folder}/calls"
${more}
case "${program} $*" in
  "kind get clusters") cat "${folder}/clusters" ;;
  "helm get notes"*) cat "${folder}/notes" ;;
esac
`,
    );
    await chmod(path, 0o755);
  }

  async function run(...args: readonly string[]): Promise<{ code: number; calls: string[]; stderr: string }> {
    const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder };
    const { code, stderr } = await new Promise<{ code: number; stderr: string }>((resolve) => {
      execFile(SCRIPT, [...args], { env }, (error, _stdout, said) => {
        resolve({ code: Number(error?.code ?? 0), stderr: said });
      });
    });
    const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '');
    return { code, stderr, calls: text.trimEnd().replaceAll(ROOT, '.').split('\n') };
  }

  it('builds the image, loads it, installs both charts, tests them and makes the first call', async () => {
    const { code, calls, stderr } = await run();
    assert.equal(code, 0, stderr);
    const expected = [
      /^docker build --tag model-gateway:\d+\.\d+\.\d+ \.$/,
      /^kind get clusters$/,
      /^kind create cluster --name model-gateway --wait 180s$/,
      /^kind load docker-image model-gateway:\d+\.\d+\.\d+ --name model-gateway$/,
      /^kubectl config use-context kind-model-gateway$/,
      /^helm upgrade --install model-gateway-crds \.\/charts\/model-gateway-crds$/,
      /^helm upgrade --install model-gateway \.\/charts\/model-gateway .*--set demo\.enabled=true .*pullPolicy=Never/,
      /^kubectl rollout restart /,
      /^kubectl rollout status deployment\/model-gateway-operator /,
      /^kubectl rollout status deployment\/model-gateway /,
      /^helm test model-gateway --namespace model-gateway --logs$/,
      /^helm get notes model-gateway --namespace model-gateway$/,
      /^kubectl wait --for condition=Available deployment\/model-gateway$/,
    ];
    for (const [at, pattern] of expected.entries()) assert.match(calls[at] ?? '', pattern);
    assert.ok(calls.includes('kubectl apply -f -'));
    // the forwarded port opens while the call is tried
    assert.ok(calls.slice(expected.length).includes('curl --silent http://127.0.0.1:8080/v1/chat/completions'));
  });

  it('keeps a cluster that is there', async () => {
    await writeFile(join(folder, 'clusters'), 'mine\n');
    assert.ok((await run()).calls.includes('kind create cluster --name model-gateway --wait 180s'));
    await rm(join(folder, 'calls'));
    await writeFile(join(folder, 'clusters'), 'model-gateway\n');
    assert.ok(!(await run()).calls.some((call) => call.startsWith('kind create')));
  });

  it('deletes the cluster', async () => {
    assert.deepEqual((await run('down')).calls, ['kind delete cluster --name model-gateway']);
  });

  it('ends at the first step that fails', async () => {
    await standIn('kind', '[ "$1" = load ] && exit 3');
    const { code, calls } = await run();
    assert.equal(code, 3);
    assert.ok(!calls.some((call) => call.startsWith('helm')));
  });

  it('says what is missing, and refuses other words', async () => {
    assert.equal((await run('sideways')).code, 64);
    await rm(join(folder, 'kind'));
    const { code, stderr } = await run();
    assert.deepEqual([code, stderr], [1, 'kind is not on the PATH; docs/tutorials/kind.md says what is needed\n']);
  });
});

it.skipIf(shellcheck.skip)('ShellCheck has nothing to say about the script', async () => {
  assert.equal(await lintShell(shellcheck, SCRIPT), '');
});

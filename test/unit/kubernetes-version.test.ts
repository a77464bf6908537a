/** MGW_TEST_KUBERNETES chooses the version of Kubernetes that the suites build and run. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { kubeFolder, KUBERNETES_VERSION, parseVersion } from '../support/kube/binaries.ts';

it('is the pinned version or the one of the environment, in a folder of its own', () => {
  assert.match(parseVersion(undefined), /^1\.\d+\.\d+$/);
  assert.equal(parseVersion('1.37.2'), '1.37.2');
  assert.equal(kubeFolder({ XDG_CACHE_HOME: '/cache' }), `/cache/model-gateway/kube-${KUBERNETES_VERSION}`);
});

it('is refused if it is no version', () => {
  assert.throws(() => parseVersion('latest'), /must be a version such as 1\.37\.2, not "latest"/);
});

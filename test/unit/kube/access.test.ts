/** Credentials that a kubeconfig obtains: from an exec plugin, and from an OpenID Connect provider. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { openAccess } from '#kube/access.ts';

const folder = mkdtempSync(join(tmpdir(), 'mgw-access-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A kubeconfig for a user of this description; client-node reads JSON as YAML. */
function kubeconfigFor(name: string, user: object): string {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'it',
      clusters: [{ name: 'it', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'it', user }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it', namespace: 'team-a' } }],
    }),
  );
  return path;
}

async function authorizationOf(kubeconfig: string): Promise<string | undefined> {
  const access = openAccess({ kubeconfig, nowMs: () => Date.now() });
  try {
    return (await access.open()).headers['authorization'];
  } finally {
    await access.close();
  }
}

/** Unsigned: only its `exp` is read here. */
function idToken(expiresSeconds: number): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  return [encode({ alg: 'none' }), encode({ sub: 'jane', exp: expiresSeconds }), 'signature'].join('.');
}

describe('a kubeconfig', () => {
  it('with an exec plugin sends the token that the plugin prints', async () => {
    const plugin = join(folder, 'plugin');
    writeFileSync(
      plugin,
      `#!/bin/sh
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s-%s"}}' \\
  "$1" "$TENANT"\n`,
    );
    chmodSync(plugin, 0o700);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin,
      args: ['token'],
      env: [{ name: 'TENANT', value: 'a' }],
      interactiveMode: 'Never',
    };
    assert.equal(await authorizationOf(kubeconfigFor('exec', { exec })), 'Bearer token-a');
  });

  it('with an exec plugin that fails says so', async () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: join(folder, 'absent'),
      interactiveMode: 'Never',
    };
    await assert.rejects(authorizationOf(kubeconfigFor('absent', { exec })), /absent/);
  });

  it('with an OpenID Connect provider sends the id token that is still valid', async () => {
    const token = idToken(Math.floor(Date.now() / 1000) + 3600);
    const config = {
      'client-id': 'kubernetes',
      'id-token': token,
      'idp-issuer-url': 'https://127.0.0.1:1',
      'refresh-token': 'refresh',
    };
    assert.equal(
      await authorizationOf(kubeconfigFor('oidc', { 'auth-provider': { name: 'oidc', config } })),
      `Bearer ${token}`,
    );
  });
});

/** A linter finds nothing in any rendered chart that lint.yaml does not explain. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { needHelm } from '../../support/helm.ts';
import { findKubeScore, lint } from '../../support/kube/kube-score.ts';
import type { Finding } from '../../support/kube/kube-score.ts';
import { readSituations, renderText } from './situations.ts';

const helm = await needHelm();
const linter = helm.skip ? { missing: helm.skip } : await findKubeScore(process.env);
if ('missing' in linter && process.env['CI'] === 'true') throw new Error(linter.missing);
const situations = await readSituations();

interface Explained {
  /** Patterns, this one included; absent: any. */
  readonly check: string;
  readonly object?: string;
  readonly words?: string;
  readonly situation?: string;
  readonly why: string;
}

function explains(
  { check, object = '', words = '', situation = '' }: Explained,
  finding: Finding,
  of: string,
): boolean {
  return (
    new RegExp(`^(?:${check})$`).test(finding.check) &&
    new RegExp(`^(?:${object || '.*'})$`).test(finding.object) &&
    new RegExp(words).test(finding.message) &&
    new RegExp(`^(?:${situation || '.*'})$`).test(of)
  );
}

describe.skipIf('missing' in linter)('kube-score finds nothing unexplained', () => {
  const used = new Set<Explained>();
  let explained: Explained[];
  beforeAll(async () => {
    explained = parse(await readFile(join(import.meta.dirname, 'lint.yaml'), 'utf8'));
  });

  for (const situation of situations)
    it(situation.name, async () => {
      assert.ok('path' in linter);
      const findings = await lint(linter.path, await renderText(helm, situation), ['container-seccomp-profile']);
      assert.ok(findings.length > 0, 'it has looked');
      const unexplained = findings.filter((finding) => {
        const because = explained.filter((each) => explains(each, finding, situation.name));
        for (const each of because) used.add(each);
        return because.length === 0;
      });
      assert.deepEqual(unexplained, []);
    });

  it('every explanation is needed', () => {
    assert.deepEqual(
      explained.filter((each) => !used.has(each)),
      [],
    );
    assert.deepEqual(
      explained.filter(({ why }) => why.length < 20),
      [],
    );
  });
});

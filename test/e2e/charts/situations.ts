/**
 * The situations of testdata: `<situation>.values.yaml` are the values of a release, `<situation>.out.yaml` what comes
 * of them. A comment in the first line, `# only: operator-deployment operator-service`, names the templates that the second file
 * shows; the rest is rendered all the same, for what is tested of every object.
 */
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { renderedObjects, runHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import type { Needed } from '../../support/needs.ts';

export const ROOT = join(import.meta.dirname, '../../..');
export const CHART = join(ROOT, 'charts/model-gateway');
export const CRDS_CHART = join(ROOT, 'charts/model-gateway-crds');
export const TESTDATA = join(import.meta.dirname, 'testdata');
export const NAMESPACE = 'model-gateway';

export interface Situation {
  readonly name: string;
  readonly valuesFile: string;
  /** Templates in the golden file; empty: all. */
  readonly only: readonly string[];
}

/** All situations, by name. */
export async function readSituations(): Promise<Situation[]> {
  const files = (await Array.fromAsync(glob('*.values.yaml', { cwd: TESTDATA }))).sort();
  return files.map((file) => {
    const valuesFile = join(TESTDATA, file);
    const only = /^# only: (.+)\n/.exec(readFileSync(valuesFile, 'utf8'))?.[1]?.split(' ') ?? [];
    return { name: file.replace('.values.yaml', ''), valuesFile, only };
  });
}

const renderings = new Map<string, Promise<string>>();

/** The rendered chart of the gateway, with hooks, as text; rendered once per situation. */
export function renderText(helm: Needed, situation: Situation): Promise<string> {
  const known = renderings.get(situation.name) ?? render(helm, situation);
  renderings.set(situation.name, known);
  return known;
}

function render(helm: Needed, situation: Situation): Promise<string> {
  return runHelm(
    helm,
    'template',
    'gw',
    CHART,
    '--namespace',
    NAMESPACE,
    '--kube-version',
    '1.36.0',
    '--values',
    situation.valuesFile,
  );
}

/** The rendered chart as objects. */
export async function renderAll(helm: Needed, situation: Situation): Promise<Rendered[]> {
  return renderedObjects(await renderText(helm, situation));
}

/** A pod template and its workload. */
interface PodTemplate {
  readonly owner: string;
  readonly template: Rendered;
}

/** The pod templates of all workloads, and pods. */
export function podTemplates(objects: readonly Rendered[]): PodTemplate[] {
  return objects
    .map((object) => ({
      owner: `${object.kind}/${object.metadata.name}`,
      template: object.kind === 'Pod' ? object : object.spec?.template,
    }))
    .filter(({ template }) => template?.spec?.containers !== undefined);
}

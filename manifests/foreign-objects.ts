/**
 * [P] Objects in a folder of manifests that are for other programs: a repository of GitOps has them beside the
 * gateway's. They are left out and named, while a mistaken kind of the gateway's own group stays a mistake.
 */
import { basename } from 'node:path';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import { isCoreKind } from './core-objects.ts';

const OWN_GROUP = 'modelgateway.dev';
const API_VERSION = /^(?:([a-z0-9.-]+)\/)?v\d\w*$/;
const KUSTOMIZATION = /^kustomization\.ya?ml$/;

/** Why a file is left out: kustomize's own, which may have neither apiVersion nor kind. */
export function foreignFile(path: string): string | undefined {
  if (!KUSTOMIZATION.test(basename(path))) return undefined;
  return 'ignored: only kustomize reads this file; its patches and generators are not applied here';
}

/** Why an object is left out; undefined: it is the gateway's own, or a mistake. */
export function foreignObject(object: JsonObject, kinds: { has(kind: string): boolean }): string | undefined {
  const { kind, apiVersion, sops } = object;
  if (isJsonObject(sops)) return 'ignored: encrypted by SOPS; decrypt it before it is applied';
  if (typeof kind !== 'string' || typeof apiVersion !== 'string' || isExpected(kind, kinds)) return undefined;
  const [version, group = 'Kubernetes'] = API_VERSION.exec(apiVersion) ?? [];
  return version === undefined || group === OWN_GROUP
    ? undefined
    : `ignored: ${kind} of ${group} is not for the gateway`;
}

/** Kinds that are read, and lists and nothing, which are mistakes. */
function isExpected(kind: string, kinds: { has(kind: string): boolean }): boolean {
  return kind === '' || kind === 'List' || kinds.has(kind) || isCoreKind(kind);
}

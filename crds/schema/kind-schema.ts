/**
 * A kind of the API as its CustomResourceDefinition describes it. The schema is read from the YAML that a cluster
 * installs, so that all validation uses one source.
 */
import { load } from 'js-yaml';
import type { Json } from './json.ts';

/** A structural schema node of apiextensions.k8s.io/v1, with the keywords that these CRDs use. */
export interface SchemaNode {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly default?: Json;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode;
  readonly items?: SchemaNode;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly Rule[];
}

/** A CEL rule on one node. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired';
  /** The path of the invalid field, relative to the node: `.routes`. */
  readonly fieldPath?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  /** A column above 0 is shown only by `kubectl get -o wide`. */
  readonly priority?: number;
}

export interface KindSchema {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly columns: readonly PrinterColumn[];
  /** The schema of the whole object. */
  readonly root: SchemaNode;
}

/** The part of a CustomResourceDefinition that is read. */
interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: Pick<KindSchema, 'kind' | 'plural' | 'singular'> & Partial<Pick<KindSchema, 'shortNames'>>;
    readonly versions: readonly DefinitionVersion[];
  };
}

interface DefinitionVersion {
  readonly name: string;
  readonly storage: boolean;
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly schema: { readonly openAPIV3Schema: SchemaNode };
}

/**
 * Reads kinds from CustomResourceDefinitions, each in its storage version. The definitions are not validated, because
 * they are part of this program.
 */
export function loadKinds(yamlTexts: readonly string[]): KindSchema[] {
  return yamlTexts.map((text) => {
    // `load` returns unknown; tests check that the definitions have this type
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const { spec } = load(text) as Definition;
    const version = spec.versions.find((candidate) => candidate.storage);
    if (!version) throw new Error(`${spec.names.kind} has no storage version`);
    return {
      group: spec.group,
      version: version.name,
      kind: spec.names.kind,
      plural: spec.names.plural,
      singular: spec.names.singular,
      shortNames: spec.names.shortNames ?? [],
      columns: version.additionalPrinterColumns ?? [],
      root: version.schema.openAPIV3Schema,
    };
  });
}

/** The packet filter rules that a test node derives from NetworkPolicies. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { compilePolicies } from '../../support/kube-node/policies.ts';

const pod = (name: string, namespace: string, podIP: string, more: object = {}) => ({
  metadata: { name, namespace, labels: { app: name } },
  spec: {
    containers: [
      {
        ports: [
          {
            name: 'http',
            containerPort: 8080,
          },
        ],
      },
    ],
  },
  status: { podIP, phase: 'Running', ...more },
});
const NAMESPACES = ['a', 'b'].map((name) => ({ metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } }));
const PODS = [
  pod('web', 'a', '10.0.0.1'),
  pod('db', 'a', '10.0.0.2'),
  pod('web', 'b', '10.0.0.3'),
  pod('over', 'a', '10.0.0.4', { phase: 'Succeeded' }),
];

/** The rules of one chain. */
function rules(spec: object, chain: string): string[] {
  const text = compilePolicies({
    policies: [{ metadata: { namespace: 'a' }, spec }],
    pods: PODS,
    namespaces: NAMESPACES,
    exempt: ['10.9.9.9'],
  });
  return text
    .split('\n')
    .filter((line) => line.startsWith(`-A ${chain} `))
    .map((line) => line.slice(`-A ${chain} `.length));
}

describe('a policy', () => {
  it('applies to the pods that it selects, in its namespace and directions', () => {
    assert.deepEqual(rules({ podSelector: { matchLabels: { app: 'web' } } }, 'MGW-POLICY'), [
      '-s 10.9.9.9 -j RETURN',
      '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN',
      '-d 10.0.0.1 -j MGW-I-0',
    ]);
    assert.deepEqual(rules({ podSelector: {}, policyTypes: ['Egress'] }, 'MGW-POLICY').slice(2), [
      '-s 10.0.0.1 -j MGW-E-0',
      '-s 10.0.0.2 -j MGW-E-1',
    ]);
  });

  it('blocks peers that it does not name', () => {
    assert.deepEqual(rules({ podSelector: {} }, 'MGW-I-0'), ['-j DROP']);
    assert.deepEqual(rules({ podSelector: {}, ingress: [{}] }, 'MGW-I-0'), ['-j RETURN', '-j DROP']);
  });

  it('names ports by number and by name, and pods of its own and other namespaces', () => {
    const ports = [{ port: 'http' }, { protocol: 'UDP', port: 53, endPort: 54 }, { port: 'nobody-has-it' }];
    assert.deepEqual(
      rules(
        { podSelector: {}, ingress: [{ ports, from: [{ podSelector: { matchLabels: { app: 'db' } } }] }] },
        'MGW-I-0',
      ),
      ['-s 10.0.0.2 -p tcp --dport 8080 -j RETURN', '-s 10.0.0.2 -p udp --dport 53:54 -j RETURN', '-j DROP'],
    );
    const elsewhere = {
      namespaceSelector: {
        matchExpressions: [
          {
            key: 'kubernetes.io/metadata.name',
            operator: 'NotIn',
            values: ['a'],
          },
        ],
      },
    };
    assert.deepEqual(rules({ podSelector: {}, ingress: [{ from: [elsewhere] }] }, 'MGW-I-0'), [
      '-s 10.0.0.3 -j RETURN',
      '-j DROP',
    ]);
  });

  it('excludes parts of an address range', () => {
    assert.deepEqual(
      rules(
        {
          podSelector: {},
          policyTypes: ['Egress'],
          egress: [
            { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } }, { ipBlock: { cidr: '::/0' } }] },
          ],
        },
        'MGW-E-0',
      ),
      [
        '-d 0.0.0.0/0 -j MARK --set-xmark 0x20000/0x20000',
        '-d 169.254.0.0/16 -j MARK --set-xmark 0x0/0x20000',
        '-m mark --mark 0x20000/0x20000 -j RETURN',
        '-j DROP',
      ],
    );
  });
});

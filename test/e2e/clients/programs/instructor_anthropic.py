import instructor
from anthropic import Anthropic
from pydantic import BaseModel, Field
from harness import KEY, ROOT, check, run


class Person(BaseModel):
    name: str = Field(min_length=2)
    age: int = Field(ge=18)


def scenario(model):
    client = instructor.from_anthropic(Anthropic(base_url=ROOT, api_key=KEY, max_retries=0))
    person = client.messages.create(
        model=model, max_tokens=2000, response_model=Person, max_retries=0,
        messages=[{"role": "user", "content": "hello"}])
    check(person.age >= 18, "a person")


run(scenario)

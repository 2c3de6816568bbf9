"""An image pipeline of views and one copy: crop, flip, order of the channels, planes in place of pixels.

Each step is a view: other strides and another offset over the same bytes. The last line copies once, into the dense
planes that a network or an encoder expects. Needs no other library:

    pip install "$wheel"
    python examples/image_pipeline.py [RESULT.ppm]
"""

import sys

import usm
import usm.tensor as ut

HEIGHT, WIDTH = 120, 160


def photograph():
    """The bytes of an image: red grows to the right, green grows downwards, and a blue disc is in the middle."""
    for y in range(HEIGHT):
        for x in range(WIDTH):
            is_blue = (x - WIDTH // 2) ** 2 + (y - HEIGHT // 2) ** 2 < 40**2
            yield from (x * 255 // WIDTH, y * 255 // HEIGHT, 255 if is_blue else 0)


def show(name, view, memory):
    """Prints a step, and where its first element is in the memory of the image."""
    offset = view._pointer - memory._pointer
    print(f"{name:<16} shape {view.shape!s:<14} strides {view.strides!s:<14} first byte {offset}")


def main():
    image = ut.asarray(bytes(photograph()), usm_type="shared").reshape(HEIGHT, WIDTH, 3)
    allocations = usm.live_allocations()["count"]

    steps = {"image": image, "crop": image[20:100, 30:130]}
    steps["mirror"] = steps["crop"][:, ::-1]
    steps["RGB to BGR"] = steps["mirror"][:, :, ::-1]
    steps["planes"] = planes = ut.permute_dims(steps["RGB to BGR"], (2, 0, 1))
    for name, view in steps.items():
        show(name, view, image)
    print("new allocations:", usm.live_allocations()["count"] - allocations)

    dense = ut.asarray(planes, order="C", copy=True)
    print("after the copy: ", usm.live_allocations()["count"] - allocations)
    print("dense strides:  ", dense.strides)

    # A write through a view is in the image, and not in the copy.
    planes[0] = 0
    of_blue = steps["crop"][:, :, 2].tobytes().count(255), dense[0].tobytes().count(255)
    print("blue bytes in the image and in the copy:", *of_blue)

    if len(sys.argv) > 1:
        pixels = ut.permute_dims(dense[::-1], (1, 2, 0))  # RGB again, for the file
        with open(sys.argv[1], "wb") as file:
            file.write(b"P6 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())
        print("wrote", sys.argv[1])


if __name__ == "__main__":
    main()
